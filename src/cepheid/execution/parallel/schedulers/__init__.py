"""Which instance gets a new window: rules behind one contract (scheduler.py), listed in kinds.py."""
