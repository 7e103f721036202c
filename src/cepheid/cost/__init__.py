"""What things cost: beliefs about vertices, measured or assumed."""
