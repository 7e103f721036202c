"""When a component saves its state: models behind one contract (checkpoint_model.py), listed in kinds.py."""
