"""Which part of the system runs which vertex."""
