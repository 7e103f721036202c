"""The query graph: the one representation that is explained, rewritten, placed and run."""
