"""Benchmarks: every number beside a baseline measured in the same run."""
