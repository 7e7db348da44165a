"""One line under gravity alone, in one vector: a recurrence of its own, in which one order hardly waits for the one before.

With a = e_0, v = e_1 and the fall f, and all divided by the inertia,

    (k+1)(k+2) e_{k+2} = f + sum_{m<=k} lambda_m e_{k-m}        a.e_j = -1/2 sum_{0<m<j} e_m.e_{j-m}        a.v = 0

The fourth lane has a.e_j. With it the sum without its last two terms gives lambda_k, and no further product is needed. These two
terms are not waited for: the last one lies along a, which v does not feel, as a.v = 0; the one before along v, which a does not.
"""

from __future__ import annotations

from nlink.formulations.series.one_vector import total
from nlink.formulations.space.series.parts import PARTS


def one_line(order, e, rate, fall):
    """Write down the coefficients of the unit vector, with zeros behind them."""
    terms, lam, drawn = [e.taking(1.0, [PARTS]), rate], [], fall.taking(everywhere(e * fall), [PARTS])
    for k in range(order - 1):
        scale = (k + 1.0) * (k + 2.0)
        if k == 0:
            along, bent = drawn.lane(PARTS), 0.5 * (rate * rate)
        else:
            bent = pairs(k + 2, terms) + rate * (drawn * (1.0 / (k * (k + 1.0))))
            drawn = total(lam[: k - 1], terms[k:1:-1])
            along = drawn.lane(PARTS) if k > 1 else 0.0
            drawn = drawn + lam[k - 1] * rate
        lam.append(-(everywhere(bent) * scale) - along)
        terms.append((drawn + lam[k] * terms[0]) * (1.0 / scale))
    return [e, rate, *(term.taking(0.0, [PARTS]) for term in terms[2:])]


def everywhere(vector):
    """Write down the sum of the three parts in all lanes."""
    return (vector.lane(0) + vector.lane(1)) + vector.lane(2)


def pairs(k, terms):
    """Write down half of what coefficient k of the square of a series has without its first two coefficients, part by part."""
    found = total(terms[2 : (k + 1) // 2], terms[k - 2 : k // 2 : -1])
    return found + 0.5 * (terms[k // 2] * terms[k // 2]) if k % 2 == 0 else found
