"""How long events are held back: rules that follow the stream, behind one contract (wait.py), listed in kinds.py."""
