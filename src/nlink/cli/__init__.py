"""The command `nlink`: data on stdout, everything else on stderr, one clear sentence for every error.

Exit codes: 0 ok, 2 usage, 3 invalid model, 4 numerical failure (partial run saved), 5 input/output, 130 interrupted.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from nlink._support.checks import BackendError, ModelError, printable
from nlink._support.interrupt import asked_to_leave
from nlink._support.version import __version__
from nlink.cli.codes import BAD_MODEL, BROKEN_PIPE, INPUT_OUTPUT, INTERRUPTED, USAGE

COMMANDS = {
    "run": "run.run", "presets": "models.presets", "show": "models.show", "plot": "pictures.plot", "animate": "pictures.animate",
    "live": "live.live", "export": "export.export", "derive": "derive.derive", "compare": "compare.compare", "modes": "modes.modes",
    "stability": "stability.stability", "lyapunov": "chaos.lyapunov", "poincare": "chaos.poincare",
    "bifurcation": "chaos.bifurcation", "studio": "studio.studio", "compile": "compile.compile", "map": "map.chart",
}  # fmt: skip
"""The module and the function of each command."""
MOST_SAID = 800
"""Most letters of a message: a longer one has a name that is too long to read."""

app = typer.Typer(
    name="nlink",
    help="Dynamics of N-link pendulums, chains and planar mechanisms: describe, simulate, check and see them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _interruptible(function: Callable[..., None]) -> Callable[..., None]:
    """Say that a command was interrupted: Typer ends one with the exit code alone."""

    @functools.wraps(function)
    def wrapped(*arguments: Any, **options: Any) -> None:
        try:
            function(*arguments, **options)
        except KeyboardInterrupt:
            raise typer.Exit(_say("interrupted", INTERRUPTED)) from None

    return wrapped


class Command(TyperCommand):
    """A command whose module is imported when it is called; until then it has a name and a sentence."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the whole command."""
        module, function = COMMANDS[self.name or ""].split(".")
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name)(_interruptible(getattr(importlib.import_module(f"nlink.cli.{module}"), function)))
        return typer.main.get_command(alone).make_context(info_name, args, parent, **extra)


def _sentence(place: str) -> str:
    """Return the first paragraph of a command's docstring, from its source: to import all commands takes longer than to help."""
    module, function = place.split(".")
    text = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    found = re.search(rf'^def {function}\(.*?"""(.*?)(?:\n\n|""")', text, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


for name, place in COMMANDS.items():
    app.command(name, cls=Command, help=_sentence(place))(lambda: None)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nlink {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


def main() -> None:
    """Run the command in this process and exit."""
    sys.exit(command())


def command() -> int:
    """Run the command; print an error as one sentence, and return the exit code."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it talks about its own cache folder
    warnings.showwarning = _warn
    try:
        code = app(standalone_mode=False, prog_name="nlink") or 0
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except ModelError as error:
        return _say(str(error), USAGE if error.of_option else BAD_MODEL)
    except BackendError as error:
        return _say(str(error), USAGE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        return _say(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error), INPUT_OUTPUT)
    except Exception as error:
        if asked_to_leave():  # an import that was cut short, say
            return INTERRUPTED
        if not hasattr(error, "exit_code"):
            raise
        error.show()  # pyright: ignore[reportAttributeAccessIssue]
        return error.exit_code  # pyright: ignore[reportAttributeAccessIssue]


def _warn(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print a warning as one line, like every other sentence."""
    _say(str(message) if category is UserWarning else f"{category.__name__}: {message}", 0)


def _say(text: str, code: int) -> int:
    text = printable(text)
    print(f"nlink: {text if len(text) <= MOST_SAID else text[:MOST_SAID] + ' ...'}", file=sys.stderr)
    return code
