"""Runs whose processes are killed at every point of every step: what is lost, what is repeated, what is said to be unknown.

`world.py` is what a run does and what stays when its process dies. `victim.py` is the processes that die, and `ours.py`,
`openai_agents.py`, `langgraph.py` how such a process runs an agent. `life.py` takes one run through its kills and audits it,
`kills.py` all runs of a contestant. `race.py` has processes race to resume one run. `outside.py` and `watched.py` are for
other kills too.
"""
