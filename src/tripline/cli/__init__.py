"""The commands: their arguments, output and exit codes. One module for each group.

Exit codes: 0 done, 1 failed (one line on stderr), 2 wrong use (unknown flag, setting or value).

Not here: the work itself (`app.py`, `maintenance/`, `demo/`, `simulator/`).
"""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from cyclopts import App
from cyclopts.exceptions import CycloptsError

from tripline.cli.base import FAILED, INTERRUPTED, OK, WRONG_USE, commands, complain
from tripline.config import files as config_files
from tripline.later import Later

if TYPE_CHECKING:
    from cyclopts import panel
    from rich import console

    from tripline import observe
    from tripline.wiring import adapters as wiring_adapters
else:
    panel = Later("cyclopts.panel")
    console = Later("rich.console")
    observe = Later("tripline.observe")
    wiring_adapters = Later("tripline.wiring.adapters")

__all__ = ["FAILED", "INTERRUPTED", "OK", "WRONG_USE", "commands", "main", "run"]

_COMMANDS: Final = {
    "serve": ("tripline.cli.serve:serve", "tripline serve --data /srv/tripline --host 0.0.0.0"),
    "replay": (
        "tripline.cli.replay:replay",
        "TRIPLINE_DEVICE_TOKEN=... tripline replay drive_01.csv drive_04.csv --speed 60",
    ),
    "demo": ("tripline.cli.replay:demo", "tripline demo --keep"),
    "simulate": (
        "tripline.cli.simulate:simulate",
        "tripline simulate --vehicles 100 --email admin@example.com --password-stdin < password.txt",
    ),
    "config": ("tripline.cli.installation:show_config", "tripline config > tripline.toml"),
    "migrate": ("tripline.cli.installation:migrate", "tripline migrate --data /srv/tripline"),
    "doctor": ("tripline.cli.installation:doctor", "tripline doctor --data /srv/tripline"),
    "import": (
        "tripline.cli.imports:import_csv",
        "tripline import vehicles fleet.csv --email admin@example.com --dry-run",
    ),
    "ingest": ("tripline.cli.ingest:ingest", "zcat messages.jsonl.gz | tripline ingest - --data /srv/tripline"),
    "rescore": ("tripline.cli.rescore:rescore", "tripline rescore --from 2026-10-01 --dry-run"),
}
"""Commands by name: where they are, and the example in their help."""
_FAMILIES: Final = {
    "device": "tripline.cli.device:device",
    "store": "tripline.cli.store:store",
    "admin": "tripline.cli.accounts:admin",
    "push": "tripline.cli.push:push",
    "policy": "tripline.cli.policy:policy",
    "map": "tripline.cli.maps:maps",
}
"""Commands that have commands of their own."""
# A module loads for its own command, or for the list of all.
for _name, (_place, _example) in _COMMANDS.items():
    commands.command(_place, name=_name, help_epilogue=f"Example: {_example}")
for _name, _place in _FAMILIES.items():
    commands.command(_place, name=_name)
_PLACES: Final = {**_COMMANDS, **_FAMILIES}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    # Files written by a command (accounts, mails, keys, where people drove) are private to their owner, in any folder.
    os.umask(0o077)
    # Loading makes two hundred thousand objects that stay. With the usual 700, or the server's 50,000, a fifth of the
    # time of a start would go into walking over them.
    gc.set_threshold(500_000, 10, 10)
    sys.exit(run(arguments, log_trouble=True))


def run(arguments: Sequence[str] | None = None, *, log_trouble: bool = False) -> int:
    """Run one command and return its exit code. `log_trouble`: configure the process's log for problems only."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] not in _PLACES:
        for name in _PLACES:
            # The list of commands shows the purpose of each.
            commands[name]
    try:
        command, bound, _ = commands.parse_args(words, exit_on_error=False, print_error=False)
        if log_trouble and not _only_shows(command):
            # A command prints its answer. `serve` logs more, once it has read its settings.
            observe.configure_logging(level="warning", as_json=False)
        code = command(*bound.args, **bound.kwargs)
    except (CycloptsError, config_files.WrongSettingError) as error:
        if isinstance(error, CycloptsError):
            errors = console.Console(stderr=True, soft_wrap=True, highlight=False)
            errors.print(panel.CycloptsPanel(error))
        else:
            complain(error)
        return WRONG_USE
    except BrokenPipeError:
        # The reader of our output has closed it; Python's last flush goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except wiring_adapters.troubles() as error:
        complain(error)
        return FAILED
    return code if isinstance(code, int) else OK


def _only_shows(command: Callable[..., object]) -> bool:
    """Return whether this is the root's own help or version, which does no work to log."""
    return isinstance(getattr(command, "__self__", None), App)
