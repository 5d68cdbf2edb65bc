"""A file in the body of a request, received piece by piece: as the body itself, or as the one file of a form.

A small file stays in memory, a larger one goes to a temporary file that nobody else sees; neither is ever whole in
memory beside it. More than the caller allows is refused as soon as it is known, from the announced length or from what
has come.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import IO, Final

import multipart
from litestar.exceptions import InternalServerException

from tripline.api.rim import Call
from tripline.domain.refusals import BadParameter, Kind, Refusal

IN_MEMORY: Final = 262_144
"""Bytes up to which a file is not put on disk."""
PATIENCE_S: Final = 120.0
"""How long a file may be on its way; until then it holds the place of another one."""
FORM: Final = "multipart/form-data"

_FORM_OVERHEAD: Final = 65_536
"""Bytes that a form may have beside its file."""
_FORM_PARTS: Final = 16
_MIB: Final = 1_048_576


class FileTooLarge(Refusal):
    """A file has more bytes than the operation takes."""

    code = "upload.too_large"
    kind = Kind.TOO_LARGE


class TooSlow(Refusal):
    """A file did not arrive in time."""

    code = "upload.too_slow"
    kind = Kind.TIMEOUT


class BadForm(BadParameter):
    """A multipart body cannot be read, or does not hold exactly one file."""

    code = "upload.bad_form"


async def receive(request: Call, *, most: int, within_s: float = PATIENCE_S) -> IO[bytes]:
    """The file, to be read from its beginning and closed by the caller.

    Raises `FileTooLarge`, `BadForm` or `TooSlow`.
    """
    media_type, options = multipart.parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get("boundary", "") if media_type.lower() == FORM else None
    _check_announced(request, most if boundary is None else most + _FORM_OVERHEAD, most)
    received = _Received(most)
    try:
        async with asyncio.timeout(within_s):
            if boundary is None:
                async for piece in _body(request):
                    received.take(piece)
            else:
                await _take_file_of_form(request, boundary, received)
    except TimeoutError as error:
        received.file.close()
        raise TooSlow(f"The file did not arrive within {within_s:g} seconds.") from error
    except BaseException:
        received.file.close()
        raise
    received.file.seek(0)
    return received.file


class _Received:
    """What has come of the file."""

    def __init__(self, most: int) -> None:
        self.file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  outlives this
        self._most = most
        self._size = 0
        self._beside = 0

    def take(self, piece: bytes) -> None:
        """Add a piece of the file."""
        self._size += len(piece)
        if self._size > self._most:
            raise _too_large(self._most)
        self.file.write(piece)

    def pass_over(self, piece: bytes) -> None:
        """Count a piece of what stands beside the file in its form."""
        self._beside += len(piece)
        if self._beside > _FORM_OVERHEAD:
            raise _too_large(self._most)


def _check_announced(request: Call, bound: int, most: int) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > bound:
        raise _too_large(most)


async def _body(request: Call) -> AsyncIterator[bytes]:
    """The body as it comes."""
    try:
        async for piece in request.stream():
            yield piece
    except InternalServerException as error:
        # Litestar's answer to a disconnect; nobody reads ours, and it is no bug.
        raise BadParameter("The connection ended before the body.") from error


async def _take_file_of_form(request: Call, boundary: str, received: _Received) -> None:
    """Take the content of the form's one file; its other fields are passed over."""
    files = 0
    take = received.pass_over
    try:
        with multipart.PushMultipartParser(boundary, max_segment_count=_FORM_PARTS) as parser:
            async for piece in _body(request):
                for event in parser.parse(piece):
                    if isinstance(event, multipart.MultipartSegment):
                        is_file = event.filename is not None
                        files += is_file
                        take = received.take if is_file and files == 1 else received.pass_over
                    elif event is not None:
                        take(bytes(event))
    except multipart.MultipartError as error:
        raise BadForm(f"The form cannot be read: {error}.") from error
    if files != 1:
        raise BadForm(f"The form must hold one file; this one holds {files}.")


def _too_large(most: int) -> FileTooLarge:
    return FileTooLarge(f"The file must have at most {most // _MIB} MiB.")
