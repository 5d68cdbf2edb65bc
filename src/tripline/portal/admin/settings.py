"""The settings in force, read-only: name, value, source and meaning.

Not here: masking of values (`services/settings.py`), how settings are changed (docs/reference/settings.md).
"""

import asyncio

from litestar.response import Response
from msgspec.structs import replace

from tripline.domain.access import Action
from tripline.http.context import Call, process_of
from tripline.language import catalogue
from tripline.portal.frame import addresses, views, words
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import visitor_of
from tripline.services.settings import InForce


@page("GET", "/admin/settings", access=Action.INSTALLATION_READ)
async def show(request: Call) -> Response[bytes]:
    """Settings of the answering process, filtered by a text in name, value or meaning."""
    visitor = await visitor_of(request)
    search = addresses.text(request, "q")
    # On a thread: the first call looks up the meaning and bounds of every setting.
    known = await asyncio.to_thread(process_of(request).settings)
    meanings = catalogue.of_settings(visitor.language)
    told = [replace(each, description=words.sentence(meanings.get(each.name, each.description))) for each in known]
    found = [each for each in told if _holds(each, search.casefold())]
    return views.show(
        request,
        "admin/settings.html",
        title="portal.settings.title",
        settings=found,
        search=search,
        fragment="list" if views.target_of(request) == "list" else views.CONTENT,
    )


def _holds(setting: InForce, search: str) -> bool:
    return any(search in text.casefold() for text in (setting.name, setting.value or "", setting.description))
