"""`make torture`: try every case of every attack, print a table and write it to docs/reliability.md.

    python -m torture [--only WORDS] [--cases N]

With --only, attacks whose names hold these words, and docs/reliability.md stays as it is. With --cases, at most N cases of each;
the page says so.
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
from torture.attack import Absent, Attack, Measure

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
NOTHING = Measure(0.0)
ALL = 10**9
BEGIN, END = "<!-- table: make torture -->", "<!-- end of table -->"


@dataclass
class Row:
    """What an attack gave."""

    attack: Attack
    tried: int = 0
    held: int = 0
    worst: Measure = NOTHING
    absent: str = ""

    def cells(self) -> list[str]:
        """Return the row of the table."""
        memory = f"{self.worst.megabytes:.0f} MB" if self.worst.megabytes else "-"
        count = f"{self.tried:,}" if self.tried else f"0 ({self.absent})"
        return [self.attack.name, self.attack.claim, count, f"{self.held:,}", f"{self.worst.seconds:.2g} s", memory]


def attacked(attack: Attack, cases: int) -> Row:
    """Try the cases of an attack."""
    row = Row(attack)
    for k in range(min(cases, attack.full)):
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
        except Exception:
            row.tried += 1
            print(f"\nBROKEN: {attack.name}, case {k}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return row


def table(rows: list[Row]) -> str:
    """Return the table as Markdown."""
    head = ["attack", "must hold", "tried", "held", "worst time", "worst memory"]
    lines = [head, ["-"] * len(head), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def write(rows: list[Row], cases: int) -> None:
    """Put the table into the page."""
    text = PAGE.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    total, held = sum(row.tried for row in rows), sum(row.held for row in rows)
    where = f"nlink {nlink.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    part = f" At most {cases} cases of each attack were tried." if cases < ALL else ""
    head = f"{datetime.date.today().isoformat()}, {where}: {held:,} of {total:,} cases held.{part}"
    PAGE.write_text(f"{before}{BEGIN}\n{head}\n\n{table(rows)}\n{END}{after}")


def main() -> int:
    """Run the attacks; return 1 if one did not hold."""
    parser = argparse.ArgumentParser(prog="torture")
    parser.add_argument("--only", default="")
    parser.add_argument("--cases", type=int, default=ALL)
    options = parser.parse_args()
    rows = []
    for attack in load().values():
        if options.only in attack.name:
            print(f"{attack.name} ...", file=sys.stderr, flush=True)
            rows.append(attacked(attack, options.cases))
    print(table(rows))
    if not options.only:
        write(rows, options.cases)
    return int(any(row.held < row.tried for row in rows))


if __name__ == "__main__":
    sys.exit(main())
