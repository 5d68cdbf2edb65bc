"""A disk that is as small as a test wants it, and can be filled and freed (Linux, as root: a file system in memory)."""

import contextlib
import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support import required

BLOCK = 2**16


@dataclass(frozen=True)
class Disk:
    """A small disk: `folder` is where it can be used."""

    folder: Path

    def fill(self, *, but_bytes: int = 0) -> None:
        """Leave no room on it, but for so much."""
        with contextlib.suppress(FileNotFoundError):
            self._ballast.unlink()
        left = os.statvfs(self.folder)
        room = left.f_bavail * left.f_frsize - but_bytes
        # Without a buffer, whose rest would be written once more when the file is closed.
        with self._ballast.open("wb", buffering=0) as file:
            try:
                for _ in range(max(room // BLOCK, 0)):
                    file.write(bytes(BLOCK))
            except OSError as error:  # somebody else took the rest
                assert error.errno == errno.ENOSPC

    def free(self) -> None:
        """Give back the room that `fill` took."""
        self._ballast.unlink()

    def read_only(self) -> None:
        """Let nothing be written to it any more; nobody has a file open for writing."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.folder)], check=True, capture_output=True)

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"


def need(what: str) -> None:
    """Go on when small disks can be made here; else skip, or fail on a build machine."""
    required.need("mount", what)
    required.need(os.geteuid() == 0, what)


@contextlib.contextmanager
def disk(*, mib: int) -> Iterator[Disk]:
    """A disk of this size that everybody can look into, for the length of a `with` block."""
    # Not in a test's folder: those let only their owner in, and a database does not run as root.
    place = Path(tempfile.mkdtemp(prefix="tripline-disk-"))
    place.chmod(0o755)
    command = ["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=755", "tripline-test", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        required.need(done.returncode == 0, f"a small disk ({done.stderr.strip()})")
        try:
            yield Disk(place)
        finally:
            subprocess.run(["umount", "--lazy", str(place)], check=True, capture_output=True)
    finally:
        place.rmdir()
