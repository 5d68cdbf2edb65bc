"""Things a test needs from the machine: missing, the test is skipped with a line that says what did not run.

On a build machine (`CI=true`) it fails instead: there nothing may be left out in silence.
"""

import os
import shutil

import pytest


def on_build_machine() -> bool:
    """Whether nothing may be left out."""
    return os.environ.get("CI") == "true"


def need(command_or_condition: str | bool, what: str, missing: str = "not available") -> None:
    """Go on when the command is installed (or the condition holds); else skip, or fail on a build machine."""
    if isinstance(command_or_condition, str):
        found, missing = shutil.which(command_or_condition) is not None, f"{command_or_condition} is not installed"
    else:
        found = command_or_condition
    if found:
        return
    if on_build_machine():
        pytest.fail(f"{missing}: {what} did not run")
    pytest.skip(f"{missing}: {what} did not run")
