"""Windows in parallel, ahead of late events: a splitting unit, operator instances, a merger.

    consistency manager ─▶ splitter ─┬▶ instance ─┬▶ merger ─▶ matches, and what becomes of them
      (order, K, clock)              └▶ instance ─┘

Each component keeps its own checkpoints and goes back by itself when an event comes late (Sardar 2018, In-Memory Check
Pointing in Speculative Parallel Complex Event Processing, chapters 3 to 6).  All of them are state machines without
clocks, threads or processes.  Events are handled one by one: a predicate and an operator of the user are Python.
"""
