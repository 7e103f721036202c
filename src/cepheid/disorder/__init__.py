"""Events that arrive out of order, and how they are put right."""
