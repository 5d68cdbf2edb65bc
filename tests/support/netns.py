"""Network namespaces: a process with network interfaces of its own, and cables to it that can be cut (Linux, as root).

A cut cable drops what is sent, in both directions, and tells nobody: each end is made to believe that the other one has
a hardware address that it does not have. Nothing is reset, nothing becomes unreachable, as when a switch far away dies.
"""

import contextlib
import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support import required

NOBODY = "02:00:00:00:00:99"
_numbers = itertools.count(1)


def need(what: str) -> None:
    """Go on when namespaces can be made here; else skip, or fail on a build machine."""
    required.need("ip", what)
    required.need(_allowed(), f"network namespaces (root on Linux): {what}")


def _allowed() -> bool:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    name = f"tripline-try-{os.getpid()}"
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True)
    if done.returncode == 0:
        _ip("netns", "delete", name)
    return done.returncode == 0


@dataclass(frozen=True)
class Cable:
    """Two addresses that reach each other: `here`, and `there` in the namespace."""

    here: str
    there: str
    interface_here: str
    interface_there: str
    hardware_here: str
    hardware_there: str
    namespace: str

    def cut(self) -> None:
        """Nothing gets through any more, in either direction, and nobody is told."""
        self._neighbours(NOBODY, NOBODY)

    def mend(self) -> None:
        """What is sent gets through again."""
        self._neighbours(self.hardware_here, self.hardware_there)

    def _neighbours(self, of_here: str, of_there: str) -> None:
        _ip("neigh", "replace", self.there, "lladdr", of_there, "nud", "permanent", "dev", self.interface_here)
        inside = ("-n", self.namespace, "neigh", "replace", self.here, "lladdr", of_here)
        _ip(*inside, "nud", "permanent", "dev", self.interface_there)


@dataclass(frozen=True)
class Namespace:
    """A place with its own network; `inside` runs a command there."""

    name: str
    cables: tuple[Cable, ...]

    @property
    def inside(self) -> tuple[str, ...]:
        """The beginning of a command that runs in it."""
        return "ip", "netns", "exec", self.name


@contextlib.contextmanager
def namespace(*, cables: int = 1) -> Iterator[Namespace]:
    """A namespace with so many cables to it, for the length of a `with` block."""
    number = next(_numbers)
    name = f"tripline-{os.getpid()}-{number}"
    _ip("netns", "add", name)
    made: list[Cable] = []
    try:
        _ip("-n", name, "link", "set", "lo", "up")
        for index in range(cables):
            made.append(_cable(name, number * 8 + index))
        yield Namespace(name, tuple(made))
    finally:
        for cable in made:
            _ip("link", "delete", cable.interface_here)
        _ip("netns", "delete", name)


def _cable(namespace_name: str, index: int) -> Cable:
    """A pair of interfaces with addresses that are kept for measurements (RFC 2544), others for each test process."""
    pid = os.getpid()
    third, fourth = pid % 256, index % 64 * 4
    net = f"198.{18 + pid // 256 % 2}.{third}"
    here, there = f"tl{pid % 100_000}h{index}", f"tl{pid % 100_000}t{index}"
    hardware = [f"02:7a:{side:02x}:{pid // 256 % 256:02x}:{third:02x}:{index % 256:02x}" for side in (1, 2)]
    _ip("link", "add", here, "address", hardware[0], "type", "veth", "peer", "name", there, "address", hardware[1])
    _ip("link", "set", there, "netns", namespace_name)
    _ip("address", "add", f"{net}.{fourth + 1}/30", "dev", here)
    _ip("-n", namespace_name, "address", "add", f"{net}.{fourth + 2}/30", "dev", there)
    _ip("link", "set", here, "up")
    _ip("-n", namespace_name, "link", "set", there, "up")
    cable = Cable(f"{net}.{fourth + 1}", f"{net}.{fourth + 2}", here, there, *hardware, namespace_name)
    cable.mend()
    return cable


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"
