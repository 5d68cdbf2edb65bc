"""Things a test needs from the machine: missing, the test is skipped with a line that says what did not run.

On a build machine (`CI=true`) it fails instead: there nothing may be left out in silence.
"""

import os
import shutil

import pytest


def need(command_or_condition: str | bool, what: str) -> None:
    """Go on when the command is installed (or the condition holds); else skip, or fail on a build machine."""
    if isinstance(command_or_condition, str):
        found, missing = shutil.which(command_or_condition) is not None, f"{command_or_condition} is not installed"
    else:
        found, missing = command_or_condition, "not available"
    if found:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"{missing}: {what} did not run")
    pytest.skip(f"{missing}: {what} did not run")
