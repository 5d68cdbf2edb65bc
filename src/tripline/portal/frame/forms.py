"""Forms of pages: read within bounds, and accepted only from our own pages.

Typed values survive the end of a session: a form that is refused for its session alone is kept in the request, and the
page about the refusal contains every value (`troubles.py`) except passwords and files.

Not here: the check of the form's origin (`http/authentication.py`), the meaning of the values (`domain/`).
"""

import contextlib
import re
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import IO, Any, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec
import multipart
from litestar.exceptions.http_exceptions import RequestEntityTooLarge

from tripline.domain.access import Gate
from tripline.domain.refusals import BadParameter, Kind, Refusal
from tripline.http import authentication, operations, parameters, permission, uploads
from tripline.http.context import Call

E = TypeVar("E", bound=StrEnum)

CSRF: Final = "csrf"
"""The field that proves the form's origin; a script's request may send a header instead."""
NOT_OF_FORM: Final = frozenset(
    {Kind.AUTHENTICATION, Kind.TOKEN_EXPIRED, Kind.PERMISSION, Kind.NOT_FOUND, Kind.TOO_MANY}
)
"""Kinds of refusal that other values in the form cannot avoid; they have a page of their own."""
FIELDS_MAX: Final = 200
TEXT_MAX: Final = 65_536
_KIB: Final = 1_024
_SECRET: Final = re.compile(r"passw|secret", re.IGNORECASE)
_SENT: Final = "tripline.form"


def of_form(refusal: Refusal) -> Refusal:
    """The refusal, to be shown in the form; raises it if it has a page of its own."""
    if refusal.kind in NOT_OF_FORM:
        raise refusal
    return refusal


class FormTooLong(Refusal):
    """A form has more fields or more text than its page accepts."""

    code = "form.too_long"
    kind = Kind.TOO_LARGE


class Upload(msgspec.Struct):
    """A file of a form, positioned at its beginning."""

    name: str
    size: int
    file: IO[bytes]


class Typed(dict[str, Any]):
    """Typed values of a form by field, a tuple for several values; empty for missing fields."""

    def __missing__(self, name: str) -> str:
        return ""


class Form(contextlib.AbstractContextManager["Form"]):
    """A submitted form. A context manager that closes its files."""

    def __init__(self, fields: Iterable[tuple[str, str]], files: Mapping[str, Upload]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in fields:
            self._values.setdefault(name, []).append(value)
        self._files = files

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for each in self._files.values():
            each.file.close()

    def text(self, name: str) -> str:
        """The field's value, stripped; empty if missing."""
        return self.secret(name).strip()

    def secret(self, name: str) -> str:
        """The field's value as typed; empty if missing."""
        return self._values.get(name, [""])[0]

    def many(self, name: str) -> tuple[str, ...]:
        """Every value of the field."""
        return tuple(self._values.get(name, ()))

    def flag(self, name: str) -> bool:
        """True if the box is ticked."""
        return self.text(name) not in ("", "0", "false")

    def one_of(self, name: str, values: type[E]) -> E:
        """The field's value, one of these. Raises `BadParameter`."""
        sent = self.text(name)
        if sent not in frozenset(values):
            raise BadParameter.missing(name)
        return values(sent)

    def file(self, name: str) -> Upload | None:
        return self._files.get(name)

    @property
    def typed(self) -> Typed:
        """The values to show again, without secrets."""
        shown = {name: values for name, values in self._values.items() if name != CSRF and not _SECRET.search(name)}
        return Typed({name: values[0] if len(values) == 1 else tuple(values) for name, values in shown.items()})


class Arriving(msgspec.Struct, frozen=True):
    """A form whose file is still being received."""

    form: Form
    file: AsyncIterator[bytes] | None = None


async def read(
    request: Call,
    *,
    fields: int = FIELDS_MAX,
    most: int = TEXT_MAX,
    files: int = 0,
    take: Callable[[int], None] = lambda _: None,
) -> Form:
    """Read the request's form from one of our pages. The bounds are the number of fields, the bytes of their texts, and
    the bytes of files (0 refuses files). `take` gets the size of each piece of a file, and may refuse it.

    Raises `FormTooLong`, `uploads.FileTooLarge`, `BadParameter`, and as `authentication.require_own_page`.
    """
    boundary, bounds = uploads.boundary_of(request), _Bounds(fields, most, files, take)
    if files and boundary is not None:
        # Read long bodies only for accounts that may send them.
        permission.require_role(request, await authentication.sender(request))
    with _saying_why(request):
        if boundary is None:
            form = await _urlencoded(request, bounds)
        else:
            form = await _parts(_events(request, boundary, bounds), bounds)
    return await _believed(request, form)


@contextlib.asynccontextmanager
async def arriving(request: Call, *, most: int) -> AsyncIterator[Arriving]:
    """Read the form's fields, and let the caller stream its file, which must come last and is not buffered; `most` is
    the maximum size in bytes.

    Raises as `read`.
    """
    boundary, bounds = uploads.boundary_of(request), _Bounds(FIELDS_MAX, TEXT_MAX, 0)
    if boundary is None:
        yield Arriving(await _believed(request, await _urlencoded(request, bounds)))
        return
    permission.require_role(request, await authentication.sender(request))
    async with contextlib.aclosing(_events(request, boundary, bounds)) as events:
        parts, file = _Parts(bounds), None
        with _saying_why(request):
            async for event in events:
                if isinstance(event, multipart.MultipartSegment) and event.filename is not None:
                    file = event.filename or None
                    break
                parts.add(event)
            made = parts.form()
        form = await _believed(request, made)
        yield Arriving(form, None if file is None else _file(request, events, bounds, most))


def sent(request: Call) -> Form | None:
    """The form of the request, if it was read."""
    form: Form | None = request.scope.get(_SENT)  # type: ignore[assignment]
    return form


@contextlib.contextmanager
def _saying_why(request: Call) -> Iterator[None]:
    """Answer a refusal with a page, even if the form's token has not been read yet."""
    try:
        yield
    except Refusal:
        authentication.change_nothing(request)
        raise


class _Bounds(msgspec.Struct, frozen=True):
    fields: int
    most: int
    files: int
    take: Callable[[int], None] = lambda _: None

    def too_long(self) -> FormTooLong:
        return FormTooLong(fields=self.fields, most=self.most // _KIB)


async def _urlencoded(request: Call, bounds: _Bounds) -> Form:
    try:
        body = await parameters.body(request)
    except RequestEntityTooLarge as error:
        raise bounds.too_long() from error
    if len(body) > bounds.most or body.count(b"&") >= bounds.fields:
        raise bounds.too_long()
    try:
        return Form(parse_qsl(body.decode(), keep_blank_values=True, errors="strict"), {})
    except ValueError as error:
        raise BadParameter("form_unreadable") from error


async def _believed(request: Call, form: Form) -> Form:
    """Accept the form if it comes from one of our pages. Raises as `authentication.require_own_page`."""
    request.scope[_SENT] = form  # type: ignore[typeddict-unknown-key]
    if operations.of_request(request).access is not Gate.ANYONE:
        try:
            await authentication.require_own_page(request, form.secret(CSRF))
        except BaseException:
            form.close()
            raise
    return form


async def _events(request: Call, boundary: str, bounds: _Bounds) -> AsyncGenerator[Any, None]:
    """The parts of a multipart body: the head of each, then pieces of its content."""
    try:
        with multipart.PushMultipartParser(boundary, max_segment_count=bounds.fields) as parser:
            async for piece in uploads.pieces(request):
                for event in parser.parse(piece):
                    if event is not None:
                        yield event
    except (multipart.ParserLimitReached, RequestEntityTooLarge) as error:
        raise bounds.too_long() from error
    except multipart.MultipartError as error:
        raise BadParameter("form_unreadable") from error


async def _parts(events: AsyncIterator[Any], bounds: _Bounds) -> Form:
    parts = _Parts(bounds)
    try:
        async for event in events:
            parts.add(event)
        return parts.form()
    except BaseException:
        parts.close()
        raise


async def _file(request: Call, events: AsyncIterator[Any], bounds: _Bounds, most: int) -> AsyncIterator[bytes]:
    """The content of the current file, piece by piece; later parts are skipped."""
    uploads.require_announced(request, most=most, in_form=True)
    size = passed = 0
    is_behind = False
    async for event in events:
        if isinstance(event, multipart.MultipartSegment):
            is_behind = True
        elif is_behind:
            passed += len(event)
            if passed > bounds.most:
                raise bounds.too_long()
        else:
            size += len(event)
            if size > most:
                raise uploads.too_large(most)
            yield bytes(event)


class _Parts:
    def __init__(self, bounds: _Bounds) -> None:
        self._bounds = bounds
        self._texts: list[tuple[str, bytearray]] = []
        self._files: dict[str, Upload] = {}
        self._opened = contextlib.ExitStack()
        self._into: Upload | bytearray = bytearray()
        self._size = 0
        self._size_of_files = 0

    def add(self, event: Any) -> None:
        """Begin the next part, or extend the current one."""
        if isinstance(event, multipart.MultipartSegment):
            self._begin(event)
        else:
            self._take(bytes(event))

    def form(self) -> Form:
        chosen = {name: each for name, each in self._files.items() if each.name}
        for each in chosen.values():
            each.file.seek(0)
        try:
            fields = [(name, bytes(text).decode()) for name, text in self._texts]
        except UnicodeDecodeError as error:
            raise BadParameter("form_unreadable") from error
        return Form(fields, chosen)

    def close(self) -> None:
        self._opened.close()

    def _begin(self, segment: Any) -> None:
        if segment.filename is None:
            self._into = bytearray()
            self._texts.append((segment.name, self._into))
            return
        file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=uploads.IN_MEMORY)  # noqa: SIM115  outlives this
        self._opened.callback(file.close)
        self._into = Upload(segment.filename, 0, file)
        self._files.setdefault(segment.name, self._into)

    def _take(self, piece: bytes) -> None:
        if isinstance(self._into, Upload):
            self._size_of_files += len(piece)
            if self._size_of_files > self._bounds.files:
                raise uploads.too_large(self._bounds.files)
            self._bounds.take(len(piece))
            self._into.size += len(piece)
            self._into.file.write(piece)
        else:
            self._size += len(piece)
            if self._size > self._bounds.most:
                raise self._bounds.too_long()
            self._into += piece
