"""Changes in the words of others: the same rows, under the names and codes that other systems read.

                                         ┌─ cepheid   _change _match _version | row
    ContinuousQuery ─ rows with changes ─┼─ flink     op _match _version | row
                                         ├─ spark     _change_type _match _version _commit_version ... | row
                                         └─ debezium  _match before after source op ts_ms

A form is a pure function over the rows of one push (changelog.py); `kinds.py` lists them.  Forms that keep whole rows
beside their codes can be read back, as streams of other queries.
"""
