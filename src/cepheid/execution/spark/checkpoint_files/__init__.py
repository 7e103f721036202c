"""The files of a checkpoint on this machine: what Spark keeps where, whether it is whole, and the way back if not.

layout.py   folders, logs, checksums       damage.py   what is whole       rewind.py   back to the last whole batch
"""
