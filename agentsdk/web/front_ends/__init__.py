"""What the protocols of front ends share: threads of runs, and what happens in a run told in an order that they all take."""
