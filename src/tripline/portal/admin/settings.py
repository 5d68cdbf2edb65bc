"""The settings in force, to be read: what each is, where it comes from, what it means.

Not here: what is shown of a value (`services/settings.py`), how settings are changed (docs/reference/settings.md).
"""

import asyncio
from typing import Any, Final

from litestar.response import Response
from msgspec.structs import replace

from tripline.domain.access import Action
from tripline.http.context.base import Call
from tripline.http.context.process import process_of
from tripline.language import catalogue
from tripline.portal.frame import views, windows, words
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import visitor_of
from tripline.services.settings import InForce


@page("GET", "/admin/settings", access=Action.INSTALLATION_READ)
async def show(request: Call) -> Response[bytes]:
    """The settings in force in the process that answers, those whose name, value or meaning holds a text."""
    visitor = await visitor_of(request)
    search = windows.text(request, "q")
    # On a thread: the first time every setting's meaning and bounds are looked up.
    known = await asyncio.to_thread(process_of(request).settings)
    meanings = catalogue.of_settings(visitor.language)
    told = [replace(each, description=words.sentence(meanings.get(each.name, each.description))) for each in known]
    found = [each for each in told if _holds(each, search.casefold())]
    return views.show(
        request,
        visitor,
        "admin/settings.html",
        title="portal.settings.title",
        settings=found,
        search=search,
        fragment="list" if views.target_of(request) == "list" else views.CONTENT,
    )


def _holds(setting: InForce, search: str) -> bool:
    return any(search in text.casefold() for text in (setting.name, setting.value or "", setting.description))


handlers: Final[list[Any]] = [show]
