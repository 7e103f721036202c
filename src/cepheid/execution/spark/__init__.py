"""The Spark host: the only folder that imports pyspark.

Nothing is imported here, so that a Python worker which needs one module of this folder loads only that one.
"""
