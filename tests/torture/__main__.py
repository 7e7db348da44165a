"""`make torture`: try every case of every attack, print a table and write it to docs/reliability.md.

    python -m torture [--only WORDS] [--cases N]

With --only, attacks whose names hold one of these words (separated by commas); the other rows of the table stay. With --cases, at
most N cases of each. A row says when it was measured, and how many of its cases were tried.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import nlink
from torture import load
from torture.attack import Absent, Attack, Measure, Undecided

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
NOTHING = Measure(0.0)
BEGIN, END = "<!-- table: make torture -->", "<!-- end of table -->"
HEAD = ("attack", "must hold", "tried", "held", "worst time", "worst memory", "date", "remarks")
TRIED, HELD = HEAD.index("tried"), HEAD.index("held")
Cells = tuple[str, ...]


@dataclass
class Row:
    """What an attack gave."""

    attack: Attack
    tried: int = 0
    held: int = 0
    worst: Measure = NOTHING
    absent: str = ""
    undecided: int = 0

    def cells(self) -> Cells:
        """Return the row of the table."""
        memory = f"{self.worst.megabytes:.0f} MB" if self.worst.megabytes else "-"
        count = f"{self.tried:,}" + (f" of {self.attack.full:,}" if self.tried < self.attack.full else "")
        today, undecided = datetime.date.today().isoformat(), f"{self.undecided} undecided" * bool(self.undecided)
        remarks = "; ".join(filter(None, [self.absent, undecided, self.attack.remark()]))
        return (self.attack.name, self.attack.claim, count, f"{self.held:,}", f"{self.worst.seconds:.2g} s", memory, today, remarks)


def attacked(attack: Attack, cases: int | None) -> Row:
    """Try the cases of an attack."""
    row = Row(attack)
    for k in range(attack.full)[:cases]:
        folder = Path(tempfile.mkdtemp(prefix="nlink-torture-"))
        begun = time.perf_counter()
        try:
            cost = attack.trial(k, folder) or Measure(time.perf_counter() - begun)
            row.worst = Measure(*map(max, row.worst, cost))
            row.held += 1
            row.tried += 1
        except Absent as reason:
            row.absent = str(reason)
            break
        except Undecided:
            row.undecided += 1
        except Exception:
            row.tried += 1
            print(f"\nBROKEN: {attack.name}, case {k}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return row


def table(rows: list[Cells]) -> str:
    """Return the table as Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [HEAD, ("-",) * len(HEAD), *rows])


def recorded() -> dict[str, Cells]:
    """Return the rows that the page has, by the name of their attack."""
    lines = PAGE.read_text().split(BEGIN)[1].split(END)[0].splitlines()
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if line.startswith("|")]
    return {cells[0]: cells for cells in rows[2:]}


def write(rows: dict[str, Cells]) -> None:
    """Put the table into the page."""
    before, after = PAGE.read_text().split(BEGIN)[0], PAGE.read_text().split(END)[1]
    tried, held = (sum(int(cells[at].split()[0].replace(",", "")) for cells in rows.values()) for at in (TRIED, HELD))
    where = f"nlink {nlink.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    PAGE.write_text(f"{before}{BEGIN}\n{where}: {held:,} of {tried:,} cases held.\n\n{table(list(rows.values()))}\n{END}{after}")


def main() -> int:
    """Run the attacks; return 1 if one did not hold."""
    parser = argparse.ArgumentParser(prog="torture")
    parser.add_argument("--only", default="")
    parser.add_argument("--cases", type=int)
    options = parser.parse_args()
    known, attacks, rows = recorded(), load(), []
    for attack in attacks.values():
        if any(word in attack.name for word in options.only.split(",")):
            print(f"{attack.name} ...", file=sys.stderr, flush=True)
            rows.append(attacked(attack, options.cases))
            known[attack.name] = rows[-1].cells()
            write({name: known[name] for name in attacks if name in known})
    print(table([row.cells() for row in rows]))
    return int(any(row.held < row.tried for row in rows))


if __name__ == "__main__":
    sys.exit(main())
