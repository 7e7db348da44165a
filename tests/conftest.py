"""Settings of the random tests: no deadlines (kernels are compiled on first use), the same cases every time in CI."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

collect_ignore = ["extended_load.py"]  # a program: a load is registered before kernels are compiled
