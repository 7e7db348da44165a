"""Print the lowest version of every dependency that pyproject.toml admits, as constraints for pip."""

import re
import tomllib
from pathlib import Path

EXTRAS = ("web", "video", "dae", "cluster")
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,]+\])?>=(?P<version>[\w.]+)")


def constraint(requirement):
    """Return ``name==version`` for ``name[extra]>=version``."""
    match = REQUIREMENT.fullmatch(requirement)
    if match is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} must have the form name>=version, so that its lowest version is known")
    return f"{match['name']}=={match['version']}"


def constraints(project):
    """Return the constraints of the core and of `EXTRAS`."""
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *(each for extra in EXTRAS for each in extras[extra])]
    return [constraint(requirement) for requirement in requirements]


if __name__ == "__main__":
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    print("\n".join(constraints(tomllib.loads(text)["project"])))
