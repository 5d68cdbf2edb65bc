"""Discarding a draft of an import, after a page that shows the number of its rows.

Not here: the draft itself (`drafts.py`).
"""

from litestar.response import Response

from tripline.domain.import_drafts import Draft, State
from tripline.domain.refusals import Refusal
from tripline.http.context import Call
from tripline.portal.frame import forms, views
from tripline.portal.frame.deletions import GoesChanged
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor
from tripline.portal.imports import drafts as import_drafts
from tripline.services.imports import drafts


@page("GET", "/import/{draftId}/delete", access=drafts.ANY_KIND)
async def ask_to_delete(request: Call) -> Response[bytes]:
    """Ask before a draft is discarded, and show the number of its rows."""
    return _discarding(request, *await import_drafts.found_in(request))


@page("POST", "/import/{draftId}/delete", access=drafts.ANY_KIND)
async def delete(request: Call) -> Response[bytes]:
    """Discard a draft; refused if it changed since the page was rendered."""
    form = await forms.read(request)

    def look(now: Draft) -> None:
        if form.text("digest") != import_drafts.digest_of(now):
            raise GoesChanged("deletion")

    try:
        gone = await import_drafts.changed(request, drafts.throw_away, look)
    except GoesChanged as refusal:
        return _discarding(request, *await import_drafts.found_in(request), error=refusal)
    return views.moved(request, "/import", notice="portal.import.thrown_away", name=gone.name)


def _discarding(request: Call, visitor: Visitor, found: Draft, *, error: Refusal | None = None) -> Response[bytes]:
    """The page that asks before a draft is discarded."""
    what = {State.ARRIVING: "arriving", State.DONE: "done"}.get(found.state, "open")
    return views.show(
        request,
        visitor,
        "imports/discard.html",
        title="portal.import.throw_away_draft",
        error=error,
        draft=found,
        digest=import_drafts.digest_of(found),
        text=visitor.say(f"portal.import.throw_away_text.{what}", n=found.rows, name=found.name),
    )
