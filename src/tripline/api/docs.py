"""The documentation, served by the program itself: the OpenAPI and AsyncAPI documents, and a page to read the first.

The page works without any other network: the viewer is part of the package (`viewer/`), and the page's policy forbids
every other address. Not here: how the documents are made (`openapi.py`, `asyncapi.py`).
"""

import hashlib
from functools import cache
from importlib import resources
from typing import Any, Final

from litestar.exceptions import NotFoundException
from litestar.response import Response

from tripline.api import asyncapi
from tripline.api.openapi import Document
from tripline.api.operations import JSON, Value, operation
from tripline.api.rim import Call
from tripline.domain.access import Gate

FILES: Final = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
}
"""What the page loads, with its media type."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The viewer sets styles in its elements; scripts come from files alone."""
_HEADERS: Final = {
    # The answer may be kept, but is asked for again: it changes with the program's version.
    "cache-control": "no-cache",
    "referrer-policy": "no-referrer",
}
_FILE: Final = Value(name="file", type=str, meaning="name of a file of the page", example="page.js", required=True)


@operation("GET", "/api/openapi.json", access=Gate.ANYONE, answer=bytes, also={304: None})
async def read_document(request: Call) -> Response[bytes]:
    """This documentation as an OpenAPI 3.1 document.

    The answer has an `ETag`; a request with the same `If-None-Match` is answered 304 without a body.
    """
    document: Document = request.app.state.document
    return _answer(request, document.content, document.etag, f"{JSON};charset=UTF-8")


@operation("GET", "/api/asyncapi.json", access=Gate.ANYONE, answer=bytes, also={304: None})
async def read_channels(request: Call) -> Response[bytes]:
    """The device channel, the messages to customers' servers and the bus as an AsyncAPI 3.0 document.

    The answer has an `ETag`; a request with the same `If-None-Match` is answered 304 without a body.
    """
    content, etag = asyncapi.published()
    return _answer(request, content, etag, f"{JSON};charset=UTF-8")


@operation("GET", "/api/docs", access=Gate.ANYONE, answer=bytes, answer_type="text/html", also={304: None})
async def read_page(request: Call) -> Response[bytes]:
    """This documentation as a page to read, which needs no other server."""
    content, etag = _file("page.html")
    return _answer(request, content, etag, "text/html")


@operation(
    "GET",
    "/api/docs/{file}",
    access=Gate.ANYONE,
    in_path=(_FILE,),
    answer=bytes,
    answer_type="text/*",
    also={304: None},
)
async def read_file(request: Call) -> Response[bytes]:
    """A script or style sheet of the page."""
    name = request.path_params["file"]
    if name not in FILES:
        raise NotFoundException
    content, etag = _file(name)
    return _answer(request, content, etag, FILES[name])


@cache
def _file(name: str) -> tuple[bytes, str]:
    """A file of the viewer and its ETag."""
    content = resources.files("tripline.api").joinpath("viewer", name).read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def _answer(request: Call, content: bytes, etag: str, kind: str) -> Response[bytes]:
    headers = {**_HEADERS, "etag": etag}
    if kind.startswith("text/html"):
        headers["content-security-policy"] = POLICY
    if etag in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers, media_type=kind)
    return Response(content, headers=headers, media_type=kind)


handlers: Final[list[Any]] = [read_document, read_channels, read_page, read_file]
