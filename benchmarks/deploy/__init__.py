"""A service that is deployed and killed all the time: what becomes of the runs in work.

`app.py` is what its workers run: agents whose tools leave a line in a file. `service.py` submits runs, decides on those that
wait for a person, stops and kills workers meanwhile, and audits what came of each run.
"""
