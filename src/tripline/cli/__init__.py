"""The commands: what each one takes, prints and exits with. One module for each group of them.

Exit codes: 0 done, 1 failed (one line on stderr), 2 wrong use (unknown flag, setting or value).

Not here: what they do (`app.py`, `chores/`, `demo/`, `simulator/`).
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cyclopts import App
from cyclopts.exceptions import CycloptsError
from rich.console import Console

from tripline import config_files
from tripline.cli import (
    accounts,
    base,
    device,
    importing,
    ingest,
    installation,
    playing,
    push,
    serving,
    simulate,
    store,
)
from tripline.cli.base import FAILED, INTERRUPTED, OK, WRONG_USE, commands, complain

if TYPE_CHECKING:
    from tripline import app as program
    from tripline import observe
else:
    program = base.Later("tripline.app")
    observe = base.Later("tripline.observe")

__all__ = ["FAILED", "INTERRUPTED", "OK", "WRONG_USE", "commands", "main", "run"]

_GROUPS = (serving, playing, simulate, device, installation, store, importing, ingest, accounts, push)
"""Importing a module hangs its commands on the root."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    # Whatever a command writes (accounts, mails, keys, where people drove) is its owner's alone, in any folder.
    os.umask(0o077)
    sys.exit(run(arguments, log_trouble=True))


def run(arguments: Sequence[str] | None = None, *, log_trouble: bool = False) -> int:
    """Run one command; its exit code. `log_trouble`: set the process's log up to tell of trouble only."""
    errors = Console(stderr=True, soft_wrap=True, highlight=False)
    try:
        command, bound, _ = commands.parse_args(
            None if arguments is None else list(arguments),
            error_console=errors,
            exit_on_error=False,
            print_error=True,
        )
        if log_trouble and not _only_shows(command):
            # A command prints its answer. `serve` logs more, once it has read its settings.
            observe.configure_logging(level="warning", as_json=False)
        code = command(*bound.args, **bound.kwargs)
    except (CycloptsError, config_files.WrongSettingError) as error:
        if not isinstance(error, CycloptsError):
            complain(error)
        return WRONG_USE
    except program.TROUBLES as error:
        complain(error)
        return FAILED
    except BrokenPipeError:
        # The reader of our output has enough; what Python would still flush goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return code if isinstance(code, int) else OK


def _only_shows(command: Callable[..., object]) -> bool:
    """Whether this is the root's own help or version: no work that could be logged."""
    return isinstance(getattr(command, "__self__", None), App)
