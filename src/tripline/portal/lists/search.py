"""Quick search by the beginning of a number, name or address, or by the last digits of a number."""

from typing import Final

from litestar.response import Response

from tripline.domain.access import Gate
from tripline.http.context import Call
from tripline.portal.frame import views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import visitor_and
from tripline.services.fleet import search as service

_FOUND: Final = "found"
"""The block replaced while the visitor types, and its element on the search page."""
_PLACES: Final = (_FOUND, "quick-found")
"""The block's elements: on the search page, and below the search field of every page."""


@page("GET", "/search", access=Gate.ACCOUNT)
async def search(request: Call) -> Response[bytes]:
    """Records within the visitor's reach that begin with the text, or whose number ends with it."""
    text = request.query_params.get("q", "").strip()[:255]
    _, found = await visitor_and(
        request, lambda tx, visitor: service.find(tx, actor=visitor.actor, text=text), short=False
    )
    target = views.target_of(request)
    return views.show(
        request,
        "search/search.html",
        title="portal.search.title",
        fragment=_FOUND if target in _PLACES else views.CONTENT,
        place=target if target in _PLACES else _FOUND,
        text=text,
        found=found,
        short=len(text) < service.LEAST,
        most=service.MOST,
    )
