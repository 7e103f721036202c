"""Run a placed graph: on Spark, or embedded in the caller's own process.

Every host here runs the same kernel and gives the same answer; they differ in where events come from, where
state is kept, and how long a batch takes.
"""
