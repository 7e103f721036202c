"""Questions that take many simulations: sweeps and plans."""
