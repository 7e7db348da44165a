"""nlink beside other packages: models of the same chains, reference solutions, and the driver `python -m peers.speed`."""
