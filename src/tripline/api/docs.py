"""The documentation, served by the program itself: the OpenAPI and AsyncAPI documents, and a page to read the first.

The page works without any other network: the viewer is part of the package (`viewer/`), and the page's policy forbids
every other address.
"""

from typing import Final

from litestar.exceptions import NotFoundException
from litestar.response import Response

from tripline.api.documents import asyncapi
from tripline.api.documents.openapi import Document
from tripline.domain.access import Gate
from tripline.http import static_files
from tripline.http.context import Call
from tripline.http.operations import Value, operation

FILES: Final = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
}
"""Files that the page loads, with their media types."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The viewer sets styles in its elements; scripts come from files alone."""
_FILE: Final = Value("file", str, "name of a file of the page", "page.js", required=True)


@operation("GET", "/api/openapi.json", access=Gate.ANYONE, answer=bytes, also={304: None})
async def read_document(request: Call) -> Response[bytes]:
    """This documentation as an OpenAPI 3.1 document.

    The answer has an `ETag`; a request with the same `If-None-Match` is answered 304 without a body.
    """
    document: Document = request.app.state.document
    return static_files.answer(request, document.file)


@operation("GET", "/api/asyncapi.json", access=Gate.ANYONE, answer=bytes, also={304: None})
async def read_channels(request: Call) -> Response[bytes]:
    """The device channel, the messages to customers' servers and the bus as an AsyncAPI 3.0 document.

    The answer has an `ETag`; a request with the same `If-None-Match` is answered 304 without a body.
    """
    return static_files.answer(request, asyncapi.published())


@operation("GET", "/api/docs", access=Gate.ANYONE, answer=bytes, answer_type="text/html", also={304: None})
async def read_page(request: Call) -> Response[bytes]:
    """This documentation as a page to read, which needs no other server."""
    return static_files.answer(request, _of_viewer("page.html", "text/html"), policy=POLICY)


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
    return static_files.answer(request, _of_viewer(name, FILES[name]))


def _of_viewer(name: str, media_type: str) -> static_files.File:
    return static_files.of_package("tripline.api", f"viewer/{name}", media_type)
