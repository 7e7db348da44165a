"""Two nearly equal double pendulums part: the signature of chaos."""

import numpy as np

import nlink

chain = nlink.Chain.uniform(2)
start = np.array([np.pi / 2, np.pi])
one = nlink.simulate(chain, start, t_end=20.0, rtol=1e-13, atol=1e-13)
other = nlink.simulate(chain, start + np.array([0.0, 1e-9]), t_end=20.0, rtol=1e-13, atol=1e-13)
distance = np.abs(one.theta - other.theta).max(axis=1)
for t in (0, 5, 10, 15, 20):
    print(f"t = {t:2d} s: the angles differ by {distance[one.t == t][0]:.1e} rad")
