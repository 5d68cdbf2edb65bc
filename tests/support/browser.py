"""Chromium without a window, cut off from all but this machine: what a page shows, asks for, complains of.

Needs the Debian package `chromium`, and is quicker with `chromium-headless-shell`; see `required.py`.
"""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support import required

WHOLE = shutil.which("chromium")
PROGRAM = shutil.which("chromium-headless-shell") or WHOLE
"""Chromium without windows, which takes half the CPU time of the whole browser."""
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--window-size=1300,20000",  # the viewer makes only what is in sight
    "--virtual-time-budget=30000",
    "--enable-logging=stderr",
)
TIME_OUT_S = 120


def need(what: str, program: str | None = PROGRAM) -> None:
    """Go on when there is a browser; else skip, or fail on a build machine."""
    required.need(program is not None, what, "chromium is not installed")


@dataclass(frozen=True)
class Shown:
    """A page after its scripts have run."""

    html: str
    asked: set[str]
    """Addresses that the page asked for, itself included."""
    complaints: list[str]
    """Errors of scripts, of what was not found, and of what the page's policy forbade."""


def show(address: str, folder: Path) -> Shown:
    """The page at the address; the folder is for the browser's own files."""
    net = folder / "net.json"
    own = (f"--user-data-dir={folder / 'profile'}", f"--log-net-log={net}", "--dump-dom", address)
    assert PROGRAM is not None
    ended = subprocess.run([PROGRAM, *FLAGS, *own], capture_output=True, text=True, timeout=TIME_OUT_S)
    assert ended.returncode == 0, ended.stderr[-2000:]
    complaints = re.findall(r"CONSOLE[:(].*", ended.stderr)
    return Shown(ended.stdout, _asked(net, "/".join(address.split("/")[:3])), complaints)


def _asked(net: Path, origin: str) -> set[str]:
    """What the page asked for; the browser's own calls home carry no origin of the page."""
    found = set()
    for event in json.loads(net.read_text("utf-8"))["events"]:
        asked = event.get("params", {})
        if "url" in asked and (asked.get("initiator") == origin or asked["url"].startswith(origin)):
            found.add(asked["url"])
    return found
