"""The same framework by the method of [MP13b], which knows nothing of what is inside: what ours is measured against."""
