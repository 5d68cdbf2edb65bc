"""Pages of a draft's rows: one row to mend, with all its columns; and the answer to a row that was mended in place."""

from typing import Any, Final
from urllib.parse import urlencode

from litestar.response import Response

from tripline.domain.import_drafts import Draft, NotNow
from tripline.domain.refusals import NotFound, Refusal
from tripline.http.operations import Value
from tripline.http.rim import Call, rim_of
from tripline.portal import forms, import_drafts, views
from tripline.portal.page import page
from tripline.portal.visitors import Visitor, visitor_in
from tripline.services.fleet import draft_edits, draft_pages, drafts, imports
from tripline.services.fleet.draft_edits import Edit
from tripline.services.fleet.draft_pages import RowView
from tripline.store.transactions import ReadTx

FIELD: Final = "cell-"
TEXT_MAX: Final = 500_000
"""Bytes of a row's texts as a form sends them: a row of a file in Korean takes 200,000."""
PLACE: Final = ("rows", "after", "before")
"""Values of the query that say which page of rows to go back to."""
_LONGEST: Final = 9
_ROW: Final = Value(name="row", type=int, meaning="number of the row, as a spreadsheet shows it", example=12)


@page("GET", "/import/{draftId}/rows/{row}", access=drafts.ANY_KIND, in_path=(_ROW,), refuses=(NotNow,))
async def row(request: Call) -> Response[bytes]:
    """One row, to mend whatever is wrong with it."""
    visitor, found = await import_drafts.found_in(request)
    return await _form(request, visitor, found)


@page(
    "POST",
    "/import/{draftId}/rows/{row}",
    access=drafts.ANY_KIND,
    in_path=(_ROW,),
    refuses=(NotNow, imports.Contended),
)
async def mend(request: Call) -> Response[bytes]:
    """Change cells of a row, leave it out, or take it in again."""
    rim = rim_of(request)
    with await forms.read(request, most=TEXT_MAX) as form:
        visitor, found = await import_drafts.found_in(request)
        edit = Edit(_number(request), _cells(form), _skip(form))
    try:
        await draft_edits.edit(rim.store, actor=visitor.actor, draft_id=found.id, edit=edit, now_ms=rim.clock())
    except Refusal as refusal:
        if refusal.kind in forms.NOT_OF_FORM or views.is_partial(request):
            raise
        return await _form(request, visitor, found, error=refusal, texts=edit.cells)
    if views.is_partial(request):
        return await _in_place(request, form.text("rows"))
    back = urlencode({name: form.text(name) for name in PLACE if form.text(name)})
    return views.moved(request, f"/import/{found.id}?{back}" if back else f"/import/{found.id}")


async def _form(request: Call, visitor: Visitor, found: Draft, **values: Any) -> Response[bytes]:
    view = await _read(request, visitor)
    texts = values.pop("texts", {})
    places = range(max(len(found.header), len(view.cells)))
    cells = [texts.get(at, view.cells[at] if at < len(view.cells) else "") for at in places]
    return views.show(
        request,
        visitor,
        "imports/row.html",
        title=views.Plain(visitor.say("portal.import.one_row", row=view.number)),
        draft=found,
        row=view,
        columns=import_drafts.shown_columns(visitor, found),
        cells=cells,
        troubles=import_drafts.troubles(visitor, found, view),
        required=drafts.kind_of(found).sheet.required,
        place={name: request.query_params.get(name, "") for name in PLACE},
        **values,
    )


async def _in_place(request: Call, tab: str) -> Response[bytes]:
    """The row as it is now, with the numbers of the draft, for a script."""
    visitor, found = await import_drafts.found_in(request)
    view = await _read(request, visitor)
    values = import_drafts.preview_values(visitor, found, tab if tab in import_drafts.TABS else "bad", [view])
    place = {"rows": values["tab"], "after": "", "before": ""}
    return views.show(
        request,
        visitor,
        "imports/preview.html",
        title=views.Plain(found.name),
        previous=None,
        next=None,
        place=place,
        **values,
    )


async def _read(request: Call, visitor: Visitor) -> RowView:
    rim = rim_of(request)

    def work(tx: ReadTx) -> RowView:
        visitor_in(tx, request)
        return draft_pages.one(
            tx,
            actor=visitor.actor,
            draft_id=import_drafts.draft_id(request),
            number=_number(request),
            now_ms=rim.clock(),
        )

    return await rim.store.read(work)


def _number(request: Call) -> int:
    """The row in the address. Raises `NotFound`."""
    text: str = request.path_params["row"]
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST):
        raise NotFound("row", row=text[:_LONGEST])
    return int(text)


def _cells(form: forms.Form) -> dict[int, str]:
    """The texts that were sent, by the place of their column. They stand as typed."""
    places = (name.removeprefix(FIELD) for name in form.typed if name.startswith(FIELD))
    return {int(at): form.secret(f"{FIELD}{at}") for at in places if at.isascii() and at.isdecimal() and len(at) < 4}


def _skip(form: forms.Form) -> bool | None:
    return {"1": True, "0": False}.get(form.text("skip"))


handlers: Final[list[Any]] = [row, mend]
