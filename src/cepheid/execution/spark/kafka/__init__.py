"""Kafka, for sources and sinks of applications on Spark: who is asked and how, apart from Spark.

    kafka:HOST:PORT/TOPIC ─ address.py ─┬─ cluster.py        on the driver: partitions, offsets, times of records
                                        ├─ read_range.py     in workers: the records of a range of offsets
                                        ├─ stream*.py        the topic as a source of Spark's
                                        └─ transactions.py   on the driver: rows and the number of their batch, at once
    batch_ends.py: how far a batch goes in each partition (pure)

confluent_kafka is imported by what talks to brokers: it may be missing.
"""
