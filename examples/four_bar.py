"""A parallelogram four-bar turns over: the times at which its links lie in line, and the force of its pin."""

import math

import nlink

four_bar = nlink.Chain.uniform(3, pin=(1.0, 0.0))
run = nlink.simulate(four_bar, nlink.driven(four_bar, math.pi, "open"), [-1.0, 0.0, -1.0], t_end=5.0, rtol=1e-11, atol=1e-11)

for event in run.events:
    print(f"t = {event.t:.9f} s: all links in line, smallest singular value {event.info['sigma']:.1e}")
print(f"the tip stays within {run.violation().max():.1e} m of its pin")
print(f"the pin pulls with up to {abs(run.reactions()[:, -1]).max():.1f} N")
