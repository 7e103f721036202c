"""How late events arrive: a file for each kind of delay, one list of all (kinds.py), their tables (read_delay.py)."""
