"""Where windows start and end: predicates behind one contract (predicate.py), listed in kinds.py."""
