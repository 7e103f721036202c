"""What a person sees of a simulation: in the terminal, as a page, as a picture."""
