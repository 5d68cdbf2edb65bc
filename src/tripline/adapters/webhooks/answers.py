"""The answer of a customer's server, byte by byte: its status once the status line has arrived, and its end.

The status line decides (spec/push 3), with `Retry-After` of a 429 or 503, so it is read here. Headers and the end of
the answer are left to llhttp (httptools); the end shows that the connection can carry another request. Bytes in, values
out; no I/O.
"""

import re
from typing import Final

import httptools

LINE_MAX: Final = 8_192
"""Bytes of a status line, and of the interim responses before the final one."""
REST_MAX: Final = 16_384
"""Bytes of an answer behind its status line; more are not worth reading to keep the connection."""
START_MAX: Final = 1_000
"""Bytes at the beginning of a body that are kept, to be shown."""
LATER: Final = frozenset({429, 503})
"""Statuses whose `Retry-After` counts."""
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: [^\r\n]*)?\r?\n")
_INTERIM_MAX: Final = 8
_LAST_INTERIM: Final = 199
_SWITCHED: Final = 101


class GarbageError(Exception):
    """The bytes are not an HTTP/1 answer, or its beginning is too long."""


class Answer:
    """One answer while it arrives."""

    def __init__(self) -> None:
        self.status: int | None = None
        """Of the final status line; None until it arrives. Interim answers (100, 103) are skipped."""
        self.retry_after: str | None = None
        """Of a status in `LATER`, once it is `decided`."""
        self.start = b""
        """The beginning of the body."""
        self._headers_ended = False
        self.reusable = False
        """True if the answer has ended and the server keeps the connection open."""
        self.hopeless = False
        """True if the connection can never carry another request."""
        self._head = b""
        self._interim = 0
        self._rest = 0
        self._parser: httptools.HttpResponseParser | None = None

    @property
    def decided(self) -> bool:
        """The status has arrived and, for one in `LATER`, the headers."""
        return self.status is not None and (self.status not in LATER or self._headers_ended or self.hopeless)

    @property
    def is_seen(self) -> bool:
        return self.reusable or self.hopeless or len(self.start) == START_MAX

    def feed(self, data: bytes) -> None:
        """Read these bytes. Raises `GarbageError` before a status has arrived."""
        if self.status is None:
            self._head += data
            self._read_head()
            if self.status is None:
                return
            data, self._head = self._head, b""
            self._parser = httptools.HttpResponseParser(self)
        self._read_rest(data)

    def on_message_begin(self) -> None:
        """llhttp: an answer begins; a second one is unsolicited."""
        if self.reusable:
            self.reusable, self.hopeless = False, True

    def on_header(self, name: bytes, value: bytes) -> None:
        """llhttp: a header of the answer. The last `Retry-After` counts."""
        if self.status in LATER and not self._headers_ended and name.lower() == b"retry-after":
            self.retry_after = value.decode("latin-1").strip()

    def on_headers_complete(self) -> None:
        self._headers_ended = True

    def on_body(self, part: bytes) -> None:
        self.start = (self.start + part)[:START_MAX]

    def on_message_complete(self) -> None:
        assert self._parser is not None
        if self.hopeless or not self._parser.should_keep_alive():
            self.hopeless = True
        else:
            self.reusable = True

    def _read_head(self) -> None:
        while (end := self._head.find(b"\n")) >= 0:
            found = _STATUS.match(self._head)
            if found is None or end >= LINE_MAX:
                raise GarbageError
            status = int(found[1])
            if status > _LAST_INTERIM or status == _SWITCHED:
                self.status = status
                return
            blank = re.search(rb"\n\r?\n", self._head)
            if blank is None:
                break
            self._head = self._head[blank.end() :]
            self._interim += 1
            if self._interim > _INTERIM_MAX:
                raise GarbageError
        if len(self._head) >= LINE_MAX:
            raise GarbageError

    def _read_rest(self, data: bytes) -> None:
        self._rest += len(data)
        if self.reusable or self.hopeless or self._rest > REST_MAX or self._parser is None:
            self.reusable, self.hopeless = False, True
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.hopeless = True
