"""Pages of a draft's rows: the form of one row with all its columns, and the response to a correction in place."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from litestar.response import Response

from tripline.domain.import_drafts import Draft, NotNow
from tripline.domain.refusals import NotFound, Refusal
from tripline.http import parameters
from tripline.http.context import Call, context_of
from tripline.http.operations import Value
from tripline.portal.frame import digests, forms, record_forms, views
from tripline.portal.frame.digests import Clash
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_in
from tripline.portal.imports import drafts as import_drafts
from tripline.portal.imports import texts as import_texts
from tripline.portal.imports.texts import CELL
from tripline.services.imports import draft_edits, draft_pages, drafts
from tripline.services.imports.draft_edits import Edit
from tripline.services.imports.draft_pages import RowView
from tripline.store.transactions import WriteTx

TEXT_MAX: Final = 500_000
"""Bytes of a row's texts in a form: a row of a Korean file takes 200,000."""
PLACE: Final = ("rows", "after", "before", import_drafts.SEARCH)
"""Query parameters of the page of rows to return to."""
_LONGEST: Final = 9
_ROW: Final = Value("row", int, "number of the row, as a spreadsheet shows it", 12)


@page("GET", "/import/{draftId}/rows/{row}", access=drafts.ANY_KIND, in_path=(_ROW,), refuses=(NotNow,))
async def row(request: Call) -> Response[bytes]:
    """One row, with a form to correct it."""
    visitor, found = await import_drafts.found_in(request)
    place = {name: request.query_params.get(name, "") for name in PLACE}
    return await _form(request, visitor, found, place=place)


@page(
    "POST",
    "/import/{draftId}/rows/{row}",
    access=drafts.ANY_KIND,
    in_path=(_ROW,),
    refuses=(NotNow, record_forms.ChangedMeanwhile),
)
async def mend(request: Call) -> Response[bytes]:
    """Change cells of a row, skip it, or include it again; refused if another window changed its cells meanwhile."""
    context = context_of(request)
    with await forms.read(request, most=TEXT_MAX) as form:
        visitor, found = await import_drafts.found_in(request)
        edit = Edit(_number(request), _cells(form), {"1": True, "0": False}.get(form.text("skip")))
    place = {name: form.text(name) for name in PLACE}

    def look(cells: Sequence[str]) -> None:
        if _clash(form, found, edit, cells) is not None:
            raise record_forms.ChangedMeanwhile()

    def work(tx: WriteTx) -> None:
        actor = visitor_in(tx, request).actor
        draft_edits.edit(tx, actor=actor, draft_id=found.id, edit=edit, now_ms=context.clock(), look=look)

    try:
        await context.store.write(work)
    except Refusal as refusal:
        if refusal.kind in forms.NOT_OF_FORM or views.is_partial(request):
            raise
        if isinstance(refusal, record_forms.ChangedMeanwhile):
            return await _changed(request, visitor, found, form, edit, place)
        texts = {f"{CELL}{at}": text for at, text in edit.cells.items()}
        return await _form(request, visitor, found, place=place, texts=texts, digest=form.text("digest"), error=refusal)
    if views.is_partial(request):
        return await _in_place(request, place)
    back = urlencode({name: value for name, value in place.items() if value})
    return views.moved(request, f"/import/{found.id}?{back}" if back else f"/import/{found.id}")


async def _form(
    request: Call,
    visitor: Visitor,
    found: Draft,
    *,
    place: Mapping[str, str],
    texts: Mapping[str, str] = MappingProxyType({}),
    digest: str | None = None,
    changes: Sequence[tuple[str, str, str]] = (),
    **values: Any,
) -> Response[bytes]:
    """The form of a row. `texts` replace the stored cells, `digest` belongs to the row they were typed for (by default
    the current one), and `changes` are those of another window.
    """
    view = await _read(request, visitor)
    now = import_texts.row_texts(found, view.cells)
    places = range(max(len(found.header), len(view.cells)))
    return views.show(
        request,
        "imports/row.html",
        title=views.Plain(visitor.say("portal.import.one_row", row=view.number)),
        draft=found,
        row=view,
        columns=import_texts.shown_columns(visitor, found),
        cells=[{**now, **texts}.get(f"{CELL}{at}", "") for at in places],
        troubles=import_texts.troubles(visitor, view),
        required=drafts.kind_of(found).sheet.required,
        place=place,
        digest=digests.of(now) if digest is None else digest,
        changes=changes,
        **values,
    )


async def _changed(
    request: Call, visitor: Visitor, found: Draft, form: forms.Form, edit: Edit, place: Mapping[str, str]
) -> Response[bytes]:
    view = await _read(request, visitor)
    clash = _clash(form, found, edit, view.cells) or Clash((), {})
    headings = {f"{CELL}{at}": heading for at, _, heading in import_texts.shown_columns(visitor, found)}
    for each in clash.changed:
        if each.name not in headings:
            column = int(each.name.removeprefix(CELL)) + 1
            headings[each.name] = visitor.say("portal.import.beyond", column=column)
    changes = [(headings[each.name], each.now, each.typed) for each in clash.changed]
    return await _form(request, visitor, found, place=place, texts=clash.texts, status=409, changes=changes)


def _clash(form: forms.Form, found: Draft, edit: Edit, cells: Sequence[str]) -> Clash | None:
    """The changes of another window to cells that were typed here too; None without any.

    A correction in place sends only the bad cells; the others count as unchanged.
    """
    sent = {f"{CELL}{at}": text for at, text in edit.cells.items()}
    texts = import_texts.row_texts(found, cells)
    now = texts | {name: "" for name in sent if name not in texts}
    return digests.clash(form.text("digest"), now=now, typed=now | sent)


async def _in_place(request: Call, place: Mapping[str, str]) -> Response[bytes]:
    visitor, found = await import_drafts.found_in(request)
    view = await _read(request, visitor)
    tab = place["rows"] if place["rows"] in import_drafts.TABS else "bad"
    return views.show(
        request,
        "imports/preview.html",
        title=views.Plain(found.name),
        previous=None,
        next=None,
        place={**place, "rows": tab},
        **import_drafts.preview_values(visitor, found, tab, [view], place[import_drafts.SEARCH]),
    )


async def _read(request: Call, visitor: Visitor) -> RowView:
    context, draft_id, number = context_of(request), import_drafts.draft_id(request), _number(request)
    return await context.store.read(
        partial(draft_pages.one, actor=visitor.actor, draft_id=draft_id, number=number, now_ms=context.clock())
    )


def _number(request: Call) -> int:
    """The row in the address. Raises `NotFound`."""
    text: str = request.path_params["row"]
    number = parameters.whole(text, most_digits=_LONGEST)
    if number is None:
        raise NotFound("row", row=text[:_LONGEST])
    return number


def _cells(form: forms.Form) -> dict[int, str]:
    """The submitted cells by column index, not stripped."""
    names = [name for name in form.typed if name.startswith(CELL)]
    places = ((parameters.whole(name.removeprefix(CELL), most_digits=3), name) for name in names)
    return {at: form.secret(name) for at, name in places if at is not None}
