"""Pages of a draft of an import: its columns, its rows by verdict, the progress of its work, and the result.

A draft has the same address in every state, so a closed page can be opened again.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from litestar.response import Response, Stream

from tripline.domain.import_drafts import WORKED_ON, Draft, DraftId, NothingGood, NotNow, RowState, State
from tripline.domain.refusals import Refusal
from tripline.http import parameters
from tripline.http.context import Call, context_of, imports_of
from tripline.http.operations import Value
from tripline.portal.frame import addresses, digests, forms, record_forms, views
from tripline.portal.frame.deletions import GoesChanged
from tripline.portal.frame.digests import Clash
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_in
from tripline.portal.imports import texts, uploads
from tripline.services import notifications, shares
from tripline.services.imports import draft_files, draft_pages, drafts
from tripline.services.imports.draft_pages import RowView
from tripline.store.transactions import WriteTx

ROWS: Final = 50
TABS: Final = {"good": RowState.GOOD, "bad": RowState.BAD, "duplicate": RowState.DUPLICATE, "skipped": RowState.SKIPPED}
BADGES: Final = {"good": "good", "bad": "bad", "duplicate": "warning", "skipped": "idle"}
VALUE_MAX: Final = 60
"""Maximum length of a column's example value, in characters."""
SEARCH: Final = draft_pages.SEARCH
_COLUMN: Final = "column-"
_QUERY: Final = (
    Value("rows", str, "which rows: good, bad, duplicate, skipped", "bad"),
    Value("after", int, "row behind which the page begins", 51),
    Value("before", int, "row before which the page ends", 102),
    Value(SEARCH, str, "only rows with this number, or with this text in a cell", "1234"),
)
_LONGEST_NUMBER: Final = 9

_ONE: Final = "/import/{draftId}"
_page: Final = partial(page, access=drafts.ANY_KIND)
Change = Callable[..., Draft]


@_page("GET", _ONE, query=_QUERY, refuses=(draft_pages.SearchTooLong,))
async def draft(request: Call) -> Response[bytes]:
    """The draft in its current state: matching columns, work in progress, checked rows, or the registered rows."""
    visitor, found = await found_in(request)
    if found.state is State.MATCHING:
        return await _matching(request, visitor, found)
    if found.state in (State.CHECKED, State.DONE):
        return await _preview(request, visitor, found)
    return _working(request, found)


@_page("GET", f"{_ONE}/progress")
async def progress(request: Call) -> Response[bytes]:
    """Progress of the work on a draft."""
    _, found = await found_in(request)
    if found.state is not State.ARRIVING and found.state not in WORKED_ON:
        return views.moved(request, _address(request))
    return _working(request, found, fragment="progress")


@_page("GET", f"{_ONE}/columns")
async def columns(request: Call) -> Response[bytes]:
    """The form that matches the file's columns with fields."""
    return await _matching(request, *await found_in(request))


@_page("GET", f"{_ONE}/delete")
async def ask_to_delete(request: Call) -> Response[bytes]:
    """Ask before a draft is discarded, and show the number of its rows."""
    return _discarding(request, *await found_in(request))


@_page("POST", f"{_ONE}/delete")
async def delete(request: Call) -> Response[bytes]:
    """Discard a draft; refused if it changed since the page was rendered."""
    form = await forms.read(request)

    def look(now: Draft) -> None:
        if form.text("digest") != digest_of(now):
            raise GoesChanged("deletion")

    try:
        gone = await changed(request, drafts.throw_away, look)
    except GoesChanged as refusal:
        return _discarding(request, *await found_in(request), error=refusal)
    return views.moved(request, "/import", notice="portal.import.thrown_away", name=gone.name)


def _discarding(request: Call, visitor: Visitor, found: Draft, *, error: Refusal | None = None) -> Response[bytes]:
    """The page that asks before a draft is discarded."""
    what = {State.ARRIVING: "arriving", State.DONE: "done"}.get(found.state, "open")
    return views.show(
        request,
        "imports/discard.html",
        title="portal.import.throw_away_draft",
        error=error,
        draft=found,
        digest=digest_of(found),
        text=visitor.say(f"portal.import.throw_away_text.{what}", n=found.rows, name=found.name),
    )


@_page("POST", f"{_ONE}/columns", refuses=(NotNow,))
async def match(request: Call) -> Response[bytes]:
    """Match the columns and have every row checked."""
    form = await forms.read(request)
    visitor, found = await found_in(request)
    chosen = [form.text(f"{_COLUMN}{at}") or None for at in range(len(found.header))]

    def look(now: Draft) -> None:
        if digests.clash(form.text("digest"), now=_texts(now.columns), typed=_texts(chosen)) is not None:
            raise record_forms.ChangedMeanwhile()

    try:
        await changed(request, drafts.match, look, columns=chosen)
    except record_forms.ChangedMeanwhile:
        visitor, found = await found_in(request)
        clash = digests.clash(form.text("digest"), now=_texts(found.columns), typed=_texts(chosen))
        return await _matching(request, visitor, found, chosen, clash=clash)
    except Refusal as refusal:
        return await _matching(request, visitor, found, chosen, forms.of_form(refusal), digest=form.text("digest"))
    return await _back(request, found)


@_page("POST", f"{_ONE}/check", refuses=(NotNow,))
async def check(request: Call) -> Response[bytes]:
    """Check every row again, without registering any."""
    await forms.read(request)
    return await _back(request, await changed(request, drafts.check), notice="portal.import.checked_again")


@_page("POST", f"{_ONE}/commit", refuses=(NotNow, NothingGood))
async def commit(request: Call) -> Response[bytes]:
    """Register all good rows, or none."""
    form = await forms.read(request)

    def look(now: Draft) -> None:
        if now.state is State.CHECKED and form.text("digest") != digest_of(now):
            raise GoesChanged("import")

    try:
        return await _back(request, await changed(request, drafts.commit, look))
    except GoesChanged as refusal:
        return await _preview(request, *await found_in(request), error=refusal)


@_page("POST", f"{_ONE}/cancel", refuses=(NotNow,))
async def cancel(request: Call) -> Response[bytes]:
    """Stop the work on a draft without registering any row."""
    await forms.read(request)
    await changed(request, drafts.cancel)
    return views.moved(request, _address(request))


@_page("GET", f"{_ONE}/bad-rows", answer_type=uploads.CSV, refuses=(NotNow, draft_files.TooManyBadRows))
async def bad_rows(request: Call) -> Stream:
    """A file of the rows that cannot be registered, each with its reasons."""
    visitor, found = await found_in(request)
    draft_files.require_few(found)

    say = partial(texts.sentence, visitor)
    words = draft_files.Words(visitor.say("portal.import.row"), visitor.say("portal.import.reason"), say)
    store = context_of(request).store
    holder = await store.read_short(lambda tx: shares.holder(tx, visitor.actor))
    turn = partial(imports_of(request).downloads.turn, holder.operator)
    pieces = draft_files.bad_rows(store, found, words, turn)
    return views.streamed(pieces, name=f"{found.name.removesuffix('.csv')}-bad.csv", media_type=uploads.CSV)


async def found_in(request: Call) -> tuple[Visitor, Draft]:
    """Return the visitor and the draft in the address. Raises `NotFound`, `Forbidden`."""
    now_ms = context_of(request).clock()
    return await visitor_and(
        request, lambda tx, visitor: drafts.mine(tx, actor=visitor.actor, draft_id=draft_id(request), now_ms=now_ms)
    )


def draft_id(request: Call) -> DraftId:
    """The draft in the address. Raises `BadParameter`."""
    return DraftId(parameters.path_id(request, "draftId"))


def tab_of(request: Call, found: Draft) -> str:
    """The requested tab, else the first tab with rows to correct."""
    asked = request.query_params.get("rows", "")
    if asked in TABS:
        return asked
    return next((name for name in ("bad", "duplicate") if getattr(found, name)), "good")


def number(request: Call, name: str) -> int | None:
    """A row number in the query, if any."""
    return parameters.whole(request.query_params.get(name, ""), most_digits=_LONGEST_NUMBER)


async def _matching(
    request: Call,
    visitor: Visitor,
    found: Draft,
    chosen: Sequence[str | None] | None = None,
    error: Refusal | None = None,
    *,
    digest: str | None = None,
    clash: Clash | None = None,
) -> Response[bytes]:
    """The form that matches columns. `digest` belongs to the columns that the form was filled with, by default those of
    the draft; `clash` holds the changes of another window.
    """
    sheet = drafts.kind_of(found).sheet
    values = await context_of(request).store.read_short(lambda tx: draft_pages.first_values(tx, found))
    matched = found.columns if chosen is None else chosen
    changes: list[tuple[str, str, str]] = []
    if clash is not None:
        matched = [text or None for text in clash.texts.values()]
        headers = dict(zip(clash.texts, found.header, strict=True))
        left_out = visitor.say("portal.import.left_out")

        def named(column: str) -> str:
            return texts.heading(visitor, column) if column else left_out

        changes = [(headers[each.name], named(each.now), named(each.typed)) for each in clash.changed]
    return views.show(
        request,
        "imports/matching.html",
        title=views.Plain(found.name),
        status=409 if clash is not None else None if error is None else 400,
        digest=digests.of(_texts(found.columns)) if digest is None else digest,
        changes=changes,
        draft=found,
        chosen=matched,
        values=[value[:VALUE_MAX] for value in values],
        missing=[texts.heading(visitor, name) for name in drafts.missing_of(found.kind, matched)],
        options=[(name, _named(visitor, found, name)) for name in sheet.columns],
        refused=None if error is None else texts.sentence(visitor, error),
        prefix=_COLUMN,
    )


def _named(visitor: Visitor, found: Draft, column: str) -> str:
    """A column's name in the visitor's language, marked if required."""
    named = texts.heading(visitor, column)
    is_required = column in drafts.kind_of(found).sheet.required
    return visitor.say("portal.import.required", column=named) if is_required else named


def _texts(columns: Sequence[str | None]) -> dict[str, str]:
    return {f"{_COLUMN}{at}": column or "" for at, column in enumerate(columns)}


def digest_of(found: Draft) -> str:
    """Digest of a draft's state: its version grows with each change."""
    return digests.of({"version": str(found.version), "state": found.state})


async def _preview(request: Call, visitor: Visitor, found: Draft, *, error: Refusal | None = None) -> Response[bytes]:
    context = context_of(request)
    tab = tab_of(request, found)
    after, before = number(request, "after"), number(request, "before")
    search = request.query_params.get(SEARCH, "").strip()[: draft_pages.SEARCH_MAX]

    rows = await context.store.read(
        partial(
            draft_pages.page,
            actor=visitor.actor,
            draft_id=found.id,
            state=TABS[tab],
            limit=ROWS,
            now_ms=context.clock(),
            after=after,
            before=before,
            search=search,
        )
    )

    def beside(name: str, row: int) -> str:
        searched = [(SEARCH, search)] if search else []
        return addresses.of(_address(request), [("rows", tab), *searched, (name, str(row))])

    return views.show(
        request,
        "imports/preview.html",
        title=views.Plain(found.name),
        error=error,
        **preview_values(visitor, rows.draft, tab, rows.rows, search),
        previous=None if rows.before is None else beside("before", rows.before),
        next=None if rows.after is None else beside("after", rows.after),
        place={"rows": tab, "after": after or "", "before": before or "", SEARCH: search},
    )


def preview_values(
    visitor: Visitor, found: Draft, tab: str, rows: Sequence[RowView], search: str = ""
) -> dict[str, Any]:
    """The template's values for rows."""
    return {
        "draft": found,
        "digest": digest_of(found),
        "tab": tab,
        "tabs": [_tab(visitor, found, name, tab, search) for name in TABS],
        "search": search,
        "columns": texts.shown_columns(visitor, found),
        "badges": BADGES,
        "rows": [
            (
                row,
                row.state.name.lower(),
                texts.troubles(visitor, row),
                texts.leads(found, row),
                digests.of(texts.row_texts(found, row.cells)),
            )
            for row in rows
        ],
    }


def _tab(visitor: Visitor, found: Draft, name: str, current: str, search: str) -> dict[str, Any]:
    asked = [("rows", name), *([(SEARCH, search)] if search else [])]
    is_done = found.state is State.DONE
    return {
        "text": visitor.say(f"portal.import.tab.{'registered' if name == 'good' and is_done else name}"),
        "href": addresses.of(f"/import/{found.id}", asked),
        "current": name == current,
        "count": f"{getattr(found, name):,}",
    }


def _working(request: Call, found: Draft, **more: Any) -> Response[bytes]:
    return views.show(
        request,
        "imports/working.html",
        title=views.Plain(found.name),
        draft=found,
        total=found.good if found.state is State.COMMITTING else found.rows,
        **more,
    )


async def changed(
    request: Call, change: Change, look: Callable[[Draft], None] = lambda _: None, **values: Any
) -> Draft:
    """Change the draft, notify the import workers and return it. `look` gets the draft before the change and raises if
    it differs from the rendered one.
    """
    context = context_of(request)

    def work(tx: WriteTx) -> Draft:
        actor, named, now_ms = visitor_in(tx, request).actor, draft_id(request), context.clock()
        look(drafts.mine(tx, actor=actor, draft_id=named, now_ms=now_ms))
        return change(tx, actor=actor, draft_id=named, now_ms=now_ms, **values)

    changed = await context.store.write(work)
    notifications.send(context.signals, notifications.IMPORT_DUE)
    return changed


async def _back(request: Call, found: Draft, **notice: Any) -> Response[bytes]:
    """Go to the draft, after a short wait for a small one."""
    await uploads.settled(request, found)
    return views.moved(request, _address(request), **notice)


def _address(request: Call) -> str:
    return f"/import/{draft_id(request)}"
