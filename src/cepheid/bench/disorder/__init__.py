"""Disorder made to order, and what it costs: events with delays, a player, and `cepheid bench disorder`.

scenario.toml ─read_scenario─▶ Scenario ─generate─▶ PlayedEvents ─┬─ player: at their time of arrival, by a clock
                                  ▲                               └─ arrival_batches: without one
                               delays/

waiting.py       how long rules that follow the stream wait, and how much comes later than that
speculation.py   latency against corrections
late_cost.py     what a late event costs beside one in order
throughput.py    what it costs to be able to correct, where nothing is late
engines.py       what several processes are worth
instances/       operator instances as the thesis measures them: rates, latencies, over time
"""
