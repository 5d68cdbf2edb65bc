"""A file in the body of a request, received piece by piece: as the body itself, or as the one file of a form.

A small file stays in memory, a larger one goes to a private temporary file. There is no second copy in memory.
A file above the caller's limit is refused as early as possible: by the announced length, or by the bytes received.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import IO, Any, Final

import msgspec
import multipart
from litestar.exceptions import InternalServerException

from tripline.domain.refusals import BadParameter, Kind, Refusal
from tripline.http.context import Call
from tripline.wire.rest.base import KEPT_ELSEWHERE

IN_MEMORY: Final = 262_144
"""Size up to which a file stays in memory, in bytes."""
FORM: Final = "multipart/form-data"

_FORM_OVERHEAD: Final = 65_536
"""Bytes that a form may have beside its file."""
_FORM_PARTS: Final = 16
_MIB: Final = 1_048_576


class Pace(msgspec.Struct, frozen=True):
    """How fast a file must arrive."""

    idle_s: float = 30.0
    start_s: float = 60.0
    """Time that every file has; a long one has a second more for every `bytes_s` bytes that came."""
    bytes_s: int = 16_384


PACE: Final = Pace()


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


async def receive(request: Call, *, most: int, take: Callable[[int], None], pace: Pace = PACE) -> IO[bytes]:
    """Receive the file; the caller reads it from its beginning and closes it. `take` is called with the size of each
    piece, and may refuse it.

    Raises `FileTooLarge`, `BadForm` or `TooSlow`.
    """
    file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  outlives this

    async def write(piece: bytes) -> None:
        take(len(piece))
        file.write(piece)

    try:
        await stream(request, most=most, write=write, pace=pace)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


async def stream(request: Call, *, most: int, write: Callable[[bytes], Awaitable[None]], pace: Pace = PACE) -> None:
    """Give the file to `write`, piece by piece.

    Raises `FileTooLarge`, `BadForm` or `TooSlow`, and `BadParameter` when its sender goes away.
    """
    boundary = boundary_of(request)
    require_announced(request, most=most, in_form=boundary is not None)
    body, size = pieces(request, pace=pace), 0
    async for piece in body if boundary is None else _file_of_form(body, boundary, most):
        size += len(piece)
        if size > most:
            raise too_large(most)
        await write(piece)


def boundary_of(request: Call) -> str | None:
    """The boundary of a multipart body; None for a body of another type."""
    media_type, options = multipart.parse_options_header(request.headers.get("content-type", ""))
    return options.get("boundary", "") if media_type.lower() == FORM else None


def pieces(request: Call, *, pace: Pace = PACE) -> AsyncIterator[bytes]:
    """The body as it comes, for a reader that does not keep it in memory. Raises `TooSlow`, or `BadParameter` when its
    sender goes away."""
    extensions: dict[str, Any] = request.scope.get("extensions") or {}
    if KEPT_ELSEWHERE in extensions:
        extensions[KEPT_ELSEWHERE]["tell"]()
    return _in_time(_body(request), pace)


def require_announced(request: Call, *, most: int, in_form: bool) -> None:
    """Let pass a body that is announced no longer than a file of so many bytes makes it. Raises `FileTooLarge`."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > most + (_FORM_OVERHEAD if in_form else 0):
        raise too_large(most)


async def _body(request: Call) -> AsyncIterator[bytes]:
    try:
        async for piece in request.stream():
            yield piece
    except InternalServerException as error:
        # Litestar's answer to a disconnect: not a bug, and our answer is not read.
        raise BadParameter("body_cut") from error


async def _in_time(body: AsyncIterator[bytes], pace: Pace) -> AsyncIterator[bytes]:
    """The pieces, while they arrive fast enough. Raises `TooSlow`."""
    loop = asyncio.get_running_loop()
    began, size = loop.time(), 0
    while True:
        left = began + pace.start_s + size / pace.bytes_s - loop.time()
        try:
            async with asyncio.timeout(min(left, pace.idle_s)):
                piece = await anext(body, None)
        except TimeoutError as error:
            raise TooSlow(idle=pace.idle_s, start=pace.start_s, rate=pace.bytes_s) from error
        if piece is None:
            return
        size += len(piece)
        yield piece


async def _file_of_form(body: AsyncIterator[bytes], boundary: str, most: int) -> AsyncIterator[bytes]:
    """The content of the form's one file; its other fields are passed over."""
    files = beside = 0
    in_file = False
    try:
        with multipart.PushMultipartParser(boundary, max_segment_count=_FORM_PARTS) as parser:
            async for piece in body:
                for event in parser.parse(piece):
                    if isinstance(event, multipart.MultipartSegment):
                        in_file = event.filename is not None and not files
                        files += event.filename is not None
                    elif event is not None and in_file:
                        yield bytes(event)
                    elif event is not None:
                        beside += len(event)
                        if beside > _FORM_OVERHEAD:
                            raise too_large(most)
    except multipart.MultipartError as error:
        raise BadForm("unreadable", trouble=str(error)) from error
    if files != 1:
        raise BadForm("files", files=files)


def too_large(most: int) -> FileTooLarge:
    """The refusal of a file with more bytes than this."""
    return FileTooLarge(most=most // _MIB)
