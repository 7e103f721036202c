"""State that moves: other key groups and other partitions for a stopped stream.

recut.py          the state of a stage cut anew, in memory      exchange.py      two folders change places
stored_state.py   state read and written, by Spark              repartition.py   the plan, and doing it
"""
