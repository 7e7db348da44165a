"""Reference solutions of the cases: angles at the horizon, kept in references.json; `python -m peers.reference` makes them anew.

N <= 15: heyoka in 160 bits (MPFR), tolerance 1e-32, from the double-precision numbers every peer starts from; checked against
nlink's Taylor(1e-18, order=24), which integrates other equations in double precision: the check differs by what rounding has grown
to. N = 100 and 1000: that Taylor run, checked against scipy's DOP853 on the recursion.
The free cases N = 2, 3, 5 were also held against the independent multi-precision solutions of the package's tests, where pi and g
are exact decimals: they differ by 1e-11, 1.3e-9 and 2.4e-10, what rounding these numbers to doubles grows to.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

import nlink

from .cases import LONG, SHORT, Case

STORE = Path(__file__).with_name("references.json")


def angles(case: Case) -> np.ndarray:
    """Return the angles at the horizon."""
    return np.array(json.loads(STORE.read_text())[case.name]["theta"], dtype=float)


def series(case: Case) -> np.ndarray:
    method = nlink.Taylor(1e-18, order=24)
    return nlink.simulate(case.chain(), case.start, t_end=case.horizon, save=(case.horizon,), integrator=method).theta[-1]


def precise(case: Case) -> tuple[list[str], float]:
    import heyoka as hy

    from .heyoka_model import recursion

    bits = 160
    state = np.array([hy.real(x, bits) for x in (*case.start, *np.zeros(case.n))])
    equations = recursion(case.n, case.loaded)
    run = hy.taylor_adaptive(equations, state, fp_type=hy.real, prec=bits, tol=hy.real(1e-32, bits), compact_mode=True)
    run.propagate_until(hy.real(case.horizon, bits))
    theta = [str(x) for x in run.state[: case.n]]
    return theta, float(np.abs(series(case) - np.array(theta, dtype=float)).max())


def runge_kutta(case: Case) -> tuple[list[str], float]:
    from .scipy_model import prepare

    theta = series(case)
    return [repr(float(x)) for x in theta], float(np.abs(prepare(case, 1e-13)(case.horizon) - theta).max())


def main() -> None:
    store = {}
    for case in (*SHORT, *LONG):
        begun = time.perf_counter()
        theta, apart = (precise if case.n <= 15 else runge_kutta)(case)
        store[case.name] = {"t": case.horizon, "check differs by": float(f"{apart:.1e}"), "theta": theta}
        print(
            f"{case.name:>10} at {case.horizon:g} s: check differs by {apart:.1e}; {time.perf_counter() - begun:.1f} s", flush=True
        )
    STORE.write_text(json.dumps(store, indent=1) + "\n")


if __name__ == "__main__":
    main()
