"""Addresses other than loopback, in a network namespace of the test: nothing listens on the machine's network."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support import launcher, required

pytestmark = pytest.mark.deep

OWN = "198.51.100.7"
"""A documentation address (RFC 5737), given to the namespace's own loopback interface."""
_WHAT = "serving on addresses other than loopback"


def alone(data: Path, host: str) -> dict[str, Any]:
    """What the probe finds in a namespace that has only its loopback interface."""
    probe = shlex.join([sys.executable, "-m", "tests.support.address_probe", str(data), host])
    script = f"ip link set lo up && ip address add {OWN}/32 dev lo && exec {probe}"
    # From there the process that forks for the whole run cannot be reached: its address is of the network outside.
    own = {name: value for name, value in os.environ.items() if name != launcher.SHARED}
    command = ["unshare", "--net", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=own)
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


@pytest.fixture(autouse=True)
def namespaces() -> None:
    """Needs the commands, and the right to make a namespace."""
    required.need("ip", _WHAT)
    required.need("unshare", _WHAT)
    required.need(subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0, _WHAT)


def test_serve_on_every_address_speaks_https_by_itself(tmp_path: Path) -> None:
    assert alone(tmp_path / "data", "0.0.0.0") == {"api": "https://127.0.0.1", "here": 200, "there": 200}


def test_serve_on_one_address_answers_health_on_loopback_alone(tmp_path: Path) -> None:
    assert alone(tmp_path / "data", OWN) == {"api": f"https://{OWN}", "here": 200, "there": 404}
