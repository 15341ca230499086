"""N workers around one PostgreSQL: throughput, fairness, takeover, and what the database does for it.

`app.py` is what the workers run, `fleet.py` their processes, `database.py` the counters of PostgreSQL, `measure.py` one
measurement.
"""
