"""The commands: what each one takes, prints and exits with. One module for each group of them.

Exit codes: 0 done, 1 failed (one line on stderr), 2 wrong use (unknown flag, setting or value).

Not here: what they do (`app.py`, `chores/`, `demo/`, `simulator/`).
"""

import os
import sys
from collections.abc import Sequence

from cyclopts.exceptions import CycloptsError
from rich.console import Console

from tripline import app as program
from tripline import config_files, observe
from tripline.cli import accounts, device, importing, ingest, installation, playing, push, serving, simulate, store
from tripline.cli.base import FAILED, OK, WRONG_USE, commands, complain

__all__ = ["FAILED", "OK", "WRONG_USE", "commands", "main", "run"]

_GROUPS = (serving, playing, simulate, device, installation, store, importing, ingest, accounts, push)
"""Importing a module hangs its commands on the root."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    # Whatever a command writes (accounts, mails, keys, where people drove) is its owner's alone, in any folder.
    os.umask(0o077)
    # What a command prints is its answer: of what happens meanwhile only trouble is told, beside it. `serve` says more.
    observe.configure_logging(level="warning", as_json=False)
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    errors = Console(stderr=True, soft_wrap=True, highlight=False)
    try:
        code = commands(
            None if arguments is None else list(arguments),
            error_console=errors,
            exit_on_error=False,
            print_error=True,
            result_action="return_value",
        )
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
        return FAILED
    return code if isinstance(code, int) else OK
