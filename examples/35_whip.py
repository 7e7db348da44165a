"""The crack of a whip.

A tapered chain, 60 links without gravity, each link lighter than the one before. A bend runs along it. Behind the bend the chain
is at rest; the rest of the chain flies ahead at 5 m/s. As the bend nears the tip, ever less mass carries the energy, and the tip
becomes many times as fast. A whip cracks when its tip passes the speed of sound.

The start is a travelling bend: the direction of the chain turns by half a turn over six links, and each link turns at the rate
that moves the bend along.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import nlink

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
n, length, speed, bend = 60, 0.05, 5.0, 6
place = np.clip((np.arange(n) - 8) / bend, 0.0, 1.0)
theta = np.pi / 2 + np.pi * (10 * place**3 - 15 * place**4 + 6 * place**5)
slope = np.pi * (30 * place**2 - 60 * place**3 + 30 * place**4) / (bend * length)

figure = Figure(figsize=(10, 4), layout="constrained")
ax = figure.subplots()
for taper in (1.0, 0.9, 0.85):
    links = [nlink.Link.rod(length, 0.05 * taper**i) for i in range(n)]
    run = nlink.simulate(
        nlink.Chain(links, nlink.Gravity(0)), theta, -slope * speed / 2, t_end=0.7, save=0.0005, rtol=1e-11, atol=1e-11
    )
    tip = np.linalg.norm(run.velocities()[:, -1], axis=1)
    ax.semilogy(run.t, tip, label=f"each link {taper} times as heavy")
    print(f"{taper}: the tip at {tip[0]:.1f} m/s at first, {tip.max():.0f} m/s at {run.t[tip.argmax()]:.3f} s")
ax.axhline(343, color="0.5", ls="--", lw=1)
ax.set(xlabel="time (s); dashed: speed of sound", ylabel="speed of the tip (m/s)")
ax.legend()
figure.savefig(folder / "speed.png", dpi=130)
run.html(folder / "run.html")
