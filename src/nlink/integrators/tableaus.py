"""Runge-Kutta coefficients in one compressed form that the compiled step reads.

A step from (t, y) with size h has stages k_s = f(t + c_s h, y + h sum_j a_sj k_j); the last of them, number `stages`, is
taken at the new point (row b of the method), so that it is the first stage of the next step; more may follow for dense
output only. With u the part of the step done, the dense output is y + h sum_j u^(j+1) q_j, each q_j a combination of
stages. It is the nested Hermite form of Hairer

    y + u (F0 + (1-u) (F1 + u (F2 + (1-u) (F3 + ...))))
    F0 = y1 - y0,  F1 = h k_0 - F0,  F2 = 2 F0 - h (k_0 + k_new),  F3, ... = h sum d_s k_s

expanded in powers of u. Source of the coefficients: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I
(1993), II.5, II.6 and II.10; the codes DOPRI5 and DOP853 of the same authors.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

Row = dict[int, float]


class Tableau(NamedTuple):
    """One method. Rows of `pick` and `weight` hold four-blocks of stages and their weights: rows 0..total-1 the stages, then
    two error estimates (of the same eight stages), then the powers of the dense output and a row to be filled for one point
    of it (of the same stages).
    """

    stages: int
    total: int
    powers: int
    exponent: float
    c: np.ndarray
    pick: np.ndarray
    weight: np.ndarray
    blocks: np.ndarray


def tableau(order: int, c: list[float], a: dict[int, Row], new: int, errors: list[Row], dense: list[Row]) -> Tableau:
    """Compress a method: `new` is the number of the stage at the new point, `order` that of the error estimate plus one."""
    total = max(a) + 1
    powers = _powers(a[new], new, dense)
    rows = [a.get(s, {}) for s in range(total)] + _alike(errors + [{}] * (2 - len(errors))) + _alike([*powers, {}])
    width = 4 * max(2, max((len(row) + 3) // 4 for row in rows))
    pick, weight = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width))
    for i, row in enumerate(rows):
        pick[i, : len(row)] = list(row)
        weight[i, : len(row)] = list(row.values())
    blocks = np.array([(len(row) + 3) // 4 for row in rows])
    return Tableau(new, total, len(powers), -1.0 / order, np.array(c), pick, weight, blocks)


class Accelerations(NamedTuple):
    """A method for theta'' = f in Nystroem's form: only the accelerations k of the stages are kept.

    The rates in the stages of the angles are known from them: with weights of stage s,

        omega_s = omega + h sum_j rate_sj k_j        theta_s = theta + h c_s omega + h^2 sum_j turn_sj k_j

    The last row of each is the new point. `errors`: two estimates for the rates, and (times h) the same two for the angles.
    """

    c: np.ndarray
    rate: np.ndarray
    turn: np.ndarray
    errors: np.ndarray


def of_accelerations(method: Tableau) -> Accelerations:
    """Return a method in Nystroem's form."""
    count = method.stages
    full = np.zeros((method.total + 2, method.total))
    for row, (pick, weight) in enumerate(zip(method.pick[: len(full)], method.weight, strict=False)):
        np.add.at(full[row], pick, weight)
    rate, errors = full[: count + 1, :count], full[method.total :, :count]
    return Accelerations(
        method.c[: count + 1].copy(), rate.copy(), rate @ rate[:count], np.concatenate([errors, errors @ rate[:count]])
    )


def _powers(b: Row, new: int, dense: list[Row]) -> list[Row]:
    """Expand the nested form into combinations of stages, one for each power of u."""
    first: Row = {0: 1.0}
    f1 = _sum((first, 1.0), (b, -1.0))
    f2 = _sum((b, 2.0), (first, -1.0), ({new: 1.0}, -1.0))
    u, rest = Polynomial([0.0, 1.0]), Polynomial([1.0, -1.0])
    factor, total = Polynomial([1.0]), {}
    for i, row in enumerate([b, f1, f2, *dense]):
        factor = factor * (rest if i % 2 else u)
        for power, value in enumerate(factor.coef):
            total[power] = _sum((total.get(power, {}), 1.0), (row, float(value)))
    return [total[power] for power in range(1, len(total))]


def _alike(rows: list[Row]) -> list[Row]:
    """Give all rows the same stages."""
    stages = sorted({s for row in rows for s in row})
    return [{s: row.get(s, 0.0) for s in stages} for row in rows]


def _sum(*terms: tuple[Row, float]) -> Row:
    stages = sorted({s for row, _ in terms for s in row})
    return {s: sum(factor * row.get(s, 0.0) for row, factor in terms) for s in stages}


def _fractions(*values: str) -> Row:
    return {s: float(Fraction(v)) for s, v in enumerate(values) if v != "0"}


def _rows(text: str) -> dict[int, Row]:
    """Read rows of weights: the number of each row, followed by stage:weight for each stage that it uses."""
    rows: dict[int, Row] = {}
    row: Row = {}
    for word in text.split():
        stage, _, weight = word.partition(":")
        if weight:
            row[int(stage)] = float(weight)
        else:
            row = rows[int(stage)] = {}
    return rows


RK4_TABLEAU = tableau(
    order=4,
    c=[0.0, 0.5, 0.5, 1.0, 1.0],
    a={1: {0: 0.5}, 2: {1: 0.5}, 3: {2: 1.0}, 4: _fractions("1/6", "1/3", "1/3", "1/6")},
    new=4,
    errors=[],
    dense=[],
)

DOPRI5_TABLEAU = tableau(
    order=5,
    c=[0.0, 0.2, 0.3, 0.8, 8 / 9, 1.0, 1.0],
    a={
        1: _fractions("1/5"),
        2: _fractions("3/40", "9/40"),
        3: _fractions("44/45", "-56/15", "32/9"),
        4: _fractions("19372/6561", "-25360/2187", "64448/6561", "-212/729"),
        5: _fractions("9017/3168", "-355/33", "46732/5247", "49/176", "-5103/18656"),
        6: _fractions("35/384", "0", "500/1113", "125/192", "-2187/6784", "11/84"),
    },
    new=6,
    errors=[_fractions("71/57600", "0", "-71/16695", "71/1920", "-17253/339200", "22/525", "-1/40")],
    dense=[
        _fractions(
            "-12715105075/11282082432",
            "0",
            "87487479700/32700410799",
            "-10690763975/1880347072",
            "701980252875/199316789632",
            "-1453857185/822651844",
            "69997945/29380423",
        )
    ],
)

DOP853_TIMES = [
    0.0, 0.05260015195876773, 0.0789002279381516, 0.1183503419072274, 0.2816496580927726, 0.3333333333333333,
    0.25, 0.3076923076923077, 0.6512820512820513, 0.6, 0.8571428571428571, 1.0,
    1.0, 0.1, 0.2, 0.7777777777777778,
]  # fmt: skip
DOP853_ROWS = _rows("""
    1   0:0.05260015195876773
    2   0:0.0197250569845379 1:0.0591751709536137
    3   0:0.02958758547680685 2:0.08876275643042054
    4   0:0.2413651341592667 2:-0.8845494793282861 3:0.924834003261792
    5   0:0.037037037037037035 3:0.17082860872947386 4:0.12546768756682242
    6   0:0.037109375 3:0.17025221101954405 4:0.06021653898045596 5:-0.017578125
    7   0:0.03709200011850479 3:0.17038392571223998 4:0.10726203044637328 5:-0.015319437748624402 6:0.008273789163814023
    8   0:0.6241109587160757 3:-3.3608926294469414 4:-0.868219346841726 5:27.59209969944671 6:20.154067550477894
        7:-43.48988418106996
    9   0:0.47766253643826434 3:-2.4881146199716677 4:-0.590290826836843 5:21.230051448181193 6:15.279233632882423
        7:-33.28821096898486 8:-0.020331201708508627
    10  0:-0.9371424300859873 3:5.186372428844064 4:1.0914373489967295 5:-8.149787010746927 6:-18.52006565999696
        7:22.739487099350505 8:2.4936055526796523 9:-3.0467644718982196
    11  0:2.273310147516538 3:-10.53449546673725 4:-2.0008720582248625 5:-17.9589318631188 6:27.94888452941996
        7:-2.8589982771350235 8:-8.87285693353063 9:12.360567175794303 10:0.6433927460157636
    12  0:0.054293734116568765 5:4.450312892752409 6:1.8915178993145003 7:-5.801203960010585 8:0.3111643669578199
        9:-0.1521609496625161 10:0.20136540080403034 11:0.04471061572777259
    13  0:0.056167502283047954 6:0.25350021021662483 7:-0.2462390374708025 8:-0.12419142326381637 9:0.15329179827876568
        10:0.00820105229563469 11:0.007567897660545699 12:-0.008298
    14  0:0.03183464816350214 5:0.028300909672366776 6:0.053541988307438566 7:-0.05492374857139099 10:-0.00010834732869724932
        11:0.0003825710908356584 12:-0.00034046500868740456 13:0.1413124436746325
    15  0:-0.42889630158379194 5:-4.697621415361164 6:7.683421196062599 7:4.06898981839711 8:0.3567271874552811
        12:-0.0013990241651590145 13:2.9475147891527724 14:-9.15095847217987
""")
DOP853_ERRORS = _rows("""
    0   0:0.01312004499419488 5:-1.2251564463762044 6:-0.4957589496572502 7:1.6643771824549864 8:-0.35032884874997366
        9:0.3341791187130175 10:0.08192320648511571 11:-0.022355307863886294
    1   0:-0.18980075407240762 5:4.450312892752409 6:1.8915178993145003 7:-5.801203960010585 8:-0.4226823213237919
        9:-0.1521609496625161 10:0.20136540080403034 11:0.02265179219836082
""")
DOP853_DENSE = _rows("""
    0   0:-8.428938276109013 5:0.5667149535193777 6:-3.0689499459498917 7:2.38466765651207 8:2.117034582445028
        9:-0.871391583777973 10:2.2404374302607883 11:0.6315787787694688 12:-0.08899033645133331 13:18.148505520854727
        14:-9.194632392478356 15:-4.436036387594894
    1   0:10.427508642579134 5:242.28349177525817 6:165.20045171727028 7:-374.5467547226902 8:-22.113666853125306
        9:7.733432668472264 10:-30.674084731089398 11:-9.332130526430229 12:15.697238121770845 13:-31.139403219565178
        14:-9.35292435884448 15:35.81684148639408
    2   0:19.985053242002433 5:-387.0373087493518 6:-189.17813819516758 7:527.8081592054236 8:-11.57390253995963 9:6.8812326946963
        10:-1.0006050966910838 11:0.7777137798053443 12:-2.778205752353508 13:-60.19669523126412 14:84.32040550667716
        15:11.99229113618279
    3   0:-25.69393346270375 5:-154.18974869023643 6:-231.5293791760455 7:357.6391179106141 8:93.40532418362432
        9:-37.45832313645163 10:104.0996495089623 11:29.8402934266605 12:-43.53345659001114 13:96.32455395918828
        14:-39.17726167561544 15:-149.72683625798564
""")
DOP853_TABLEAU = tableau(
    order=8,
    c=DOP853_TIMES,
    a=DOP853_ROWS,
    new=12,
    errors=list(DOP853_ERRORS.values()),
    dense=list(DOP853_DENSE.values()),
)
