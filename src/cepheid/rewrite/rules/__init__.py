"""One rule per file, named after what it does.  A rule gives a better graph, or None if it has nothing to say."""
