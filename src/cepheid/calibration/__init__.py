"""What queries cost on this machine, measured, and how near the simulator comes to what they really do."""
