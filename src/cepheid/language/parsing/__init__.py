"""Text to a syntax tree, every piece with its place: relations by sqlglot, event constructs by parsers of our own."""
