"""Where scenarios come from: files, query graphs, applications, and other scenarios."""
