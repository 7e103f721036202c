"""Operator instances as the thesis measures them (Sardar 2018, chapter 7): `cepheid bench disorder --part instances`.

    streams.py ─▶ player, limiter ─▶ consistency manager ─▶ splitter, instances in processes
                                                             │
    runs.py: rates, latencies ◀──────────────────────────────┘
    experiments.py (7.6.1 to 7.6.5), goals.py, kept_bytes.py (6.4.2), sent_bytes.py ─▶ measure_instances.py ─▶ pictures

"open box": each component goes back by itself.  "black box": the whole system does ([MP13b]).  Before any time is
given, what was found is compared with the windows of the sorted events.
"""
