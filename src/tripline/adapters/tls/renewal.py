"""Certificates that change while the program runs: new handshakes get the new chain, open connections live on.

Our own certificates are renewed well before they expire; the operator's are read again when their files change. If a
pair is unusable, the previous one stays in use.
"""

import asyncio
import datetime
import ssl
from collections.abc import Callable
from typing import Any, Final

from tripline import observe
from tripline.adapters.tls import local
from tripline.adapters.tls.authority import SUCCESSOR_WITHIN
from tripline.adapters.tls.local import Material, TlsError
from tripline.domain.instants import DAY_MS
from tripline.ports.clocks import Clock

EVERY_S: Final = 60.0
"""Pause between two looks. A machine that was suspended looks within this time after it wakes up."""
TOLD_AT: Final = 2
"""Failed looks in a row for one reason before it is logged, once: half of a pair may have been written just now."""
WARNED_EVERY_MS: Final = 30 * DAY_MS
"""Pause between two warnings that our own authority ends."""
_MS: Final = datetime.timedelta(milliseconds=1)
_log = observe.logger("tls")


class LatestContext(ssl.SSLContext):
    """A server context that delegates new sessions to another one, `latest`, which may be replaced at any time.

    Event loops make a session by `wrap_bio` for each connection. A session keeps the context that it was made of.
    """

    latest: ssl.SSLContext

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        return self.latest.wrap_bio(*arguments, **options)


class ServedCertificates:
    """The certificates that the listeners show, and `context` for the listeners. Raises `TlsError` when there are
    none."""

    def __init__(self, find: Callable[[int], Material], *, now_ms: int) -> None:
        """`find` makes or renews the files where that is our task, given the time, and raises `TlsError`."""
        self._find = find
        self.material = find(now_ms)
        self.context = LatestContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.latest = local.context(self.material)
        self._content = _content(self.material)
        self._failed, self._reason = 0, ""
        """How many looks in a row failed for this reason."""
        self.ends_ms = _ends_ms(self.material)
        """When the first of the certificates in use ends, epoch ms."""
        self.authority_ends_ms = _authority_ends_ms(self.material)
        """When our own authority ends, epoch ms; None: the certificate is not of our own."""
        self._warned_ms = -WARNED_EVERY_MS

    async def run(self, clock: Clock) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await asyncio.to_thread(self.look, now_ms=clock())
            except Exception:  # noqa: BLE001  after any error, the current certificate stays in use
                _log.exception("tls.failed")

    def look(self, *, now_ms: int) -> bool:
        """Renew certificates that expire soon and load changed files; true if any changed."""
        try:
            changed = self._look(now_ms)
        except TlsError as error:
            self._tell(str(error))
            return False
        self._failed = 0
        self.authority_ends_ms = _authority_ends_ms(self.material)
        self._warn(now_ms)
        return changed

    def _look(self, now_ms: int) -> bool:
        material = self._find(now_ms)
        content = _content(material)
        if content == self._content:
            return False
        context, ends_ms = local.context(material), _ends_ms(material)
        if ends_ms <= now_ms:
            raise TlsError(f"The certificate {material.certificate} has ended; the one in use is kept.")
        self.context.latest, self.ends_ms = context, ends_ms
        self.material, self._content = material, content
        _log.info("tls.renewed", certificate=str(material.certificate), days=(ends_ms - now_ms) // DAY_MS)
        return True

    def _warn(self, now_ms: int) -> None:
        """Say that our own authority ends; the operator's is not known here."""
        if self.authority_ends_ms is None or abs(now_ms - self._warned_ms) < WARNED_EVERY_MS:
            return
        left_ms = self.authority_ends_ms - now_ms
        if left_ms < SUCCESSOR_WITHIN / _MS:
            self._warned_ms = now_ms
            _log.warning("tls.authority_ends", days=left_ms // DAY_MS, ca=str(self.material.ca))

    def _tell(self, reason: str) -> None:
        self._failed = self._failed + 1 if reason == self._reason else 1
        self._reason = reason
        if self._failed == TOLD_AT:
            _log.error("tls.not_renewed", reason=reason)


def _content(material: Material) -> list[bytes]:
    try:
        return [file.read_bytes() for pair in material.pairs for file in pair]
    except FileNotFoundError as error:
        raise TlsError(f"There is no certificate or key {error.filename}.") from error
    except OSError as error:
        raise TlsError(f"The certificate or key {error.filename} cannot be read: {error.strerror}.") from error


def _ends_ms(material: Material) -> int:
    return min(local.ends_ms(certificate) for certificate, _ in material.pairs)


def _authority_ends_ms(material: Material) -> int | None:
    return None if material.ca == material.certificate else local.ends_ms(material.ca)
