"""Equations of motion as MathML, which browsers typeset themselves: no script, no font, no picture."""

from __future__ import annotations

import re
from typing import Any
from xml.sax.saxutils import escape

from sympy import Expr, Symbol
from sympy.printing.mathml import MathMLPresentationPrinter

from nlink._support.checks import ModelError
from nlink.mechanics.chain import Multibody
from nlink.scenario import Scenario
from nlink.studio.messages import shape_of
from nlink.studio.offers import refuse
from nlink.symbolic import derive
from nlink.symbolic.typeset import energies, entries, forces

MOST_LINKS = 3
WIDTH = 900
"""Characters of MathML, more or less, after which a sum goes on in a new line."""
NAMESPACE = "http://www.w3.org/1998/Math/MathML"
MINUS = "\N{MINUS SIGN}"
Name = Symbol | str
ENTITY = {"&InvisibleTimes;": "&#8290;", "&ApplyFunction;": "&#8289;", "&dd;": "d"}


def mathml(chain: Multibody) -> tuple[str, list[dict[str, str]], str]:
    """Return a title, parts of the equations, each a heading and a table of MathML, and all of them in LaTeX."""
    refuse("equations", chain)
    if chain.n > MOST_LINKS:
        raise ModelError(f"the equations are typeset up to {MOST_LINKS} links, got {chain.n}; see nlink derive for longer ones")
    if chain.pin:
        raise ModelError("the equations are typeset for open chains; take the pin away to see those without its force")
    point = all(shape_of(link) == "point" for link in chain.links)
    loads = [name for name in Scenario(chain, (0.0,) * chain.n).to_dict()["loads"] if name != "gravity" or chain.g]
    found = derive(chain.n, shape="point" if point else "rigid", loads=loads, offset=bool(chain.offset.any()))
    parts = [("Energies", energies(found)), ("Velocities of the centres of mass", list(found.velocities.items()))]
    parts += [("Mass matrix, symmetric", entries(found, "M_{}_{}")), ("Forcing", forces(found, "f_{}"))]
    printer = MathMLPresentationPrinter()
    return found.title, [{"name": name, "math": _table(pairs, printer)} for name, pairs in parts if pairs], found.latex()


def _table(pairs: list[tuple[Name, Expr]], printer: MathMLPresentationPrinter) -> str:
    rows = [row for name, expression in pairs for row in _rows(name, expression, printer)]
    return f'<math xmlns="{NAMESPACE}" display="block"><mtable displaystyle="true">{"".join(rows)}</mtable></math>'


def _rows(name: Name, expression: Any, printer: MathMLPresentationPrinter) -> list[str]:
    """Return an equation as rows of a table, broken between terms where it is long."""
    lines: list[list[str]] = [[]]
    for k, term in enumerate(expression.as_ordered_terms()):
        negative = k > 0 and term.could_extract_minus_sign()
        text = _printed(-term if negative else term, printer)
        signed = text if not k else f'<mo form="infix">{MINUS if negative else "+"}</mo>{text}'
        if lines[-1] and sum(map(len, lines[-1])) + len(signed) > WIDTH:
            lines.append([])
        lines[-1].append(signed)
    left = f"<mrow>{_name(name)}</mrow>"
    return [
        f"<mtr><mtd>{left if k == 0 else ''}</mtd><mtd><mrow>{'<mo>=</mo>' if k == 0 else ''}{''.join(line)}</mrow></mtd></mtr>"
        for k, line in enumerate(lines)
    ]


def _printed(expression: Expr, printer: MathMLPresentationPrinter) -> str:
    text = printer.doprint(expression)
    for entity, sign in ENTITY.items():
        text = text.replace(entity, sign)
    text = text.replace("<mo>-</mo>", f"<mo>{MINUS}</mo>")
    return re.sub(r"&(?!#|amp;|lt;|gt;|quot;)", "&amp;", text)


def _name(name: Name) -> str:
    letter, *indices = str(name if not isinstance(name, Symbol) else name.name).split("_")
    sub = "<mo>,</mo>".join(f"<mn>{escape(index)}</mn>" for index in indices)
    return f"<msub><mi>{escape(letter)}</mi><mrow>{sub}</mrow></msub>" if sub else f"<mi>{escape(letter)}</mi>"
