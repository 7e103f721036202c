"""A synthetic city's bus service for one day, and the picture of what was found in it."""
