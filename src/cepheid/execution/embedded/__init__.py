"""The embedded host: DuckDB for relations, engines in this process; no Spark."""
