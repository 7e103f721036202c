"""Checkpoints of streams that do not run: what is in them, whether it is whole, and how it is moved or taken back.

layout.py      what Spark keeps where; checksums           damage.py       what is whole, and what is not
recut.py       the state of a stage cut anew, in memory    rewind.py       back to the last batch that is whole
stored_state.py   state read and written, by Spark         repartition.py  other key groups, other partitions
"""
