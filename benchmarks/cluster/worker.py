"""The worker of the processes: `python -m agentsdk worker benchmarks.cluster.worker:worker`."""

from benchmarks.cluster.app import make_worker

worker = make_worker()
