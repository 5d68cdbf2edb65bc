"""Pages of bulk import: the upload form, and the visitor's drafts."""

import asyncio
from typing import Any, Final

from litestar.response import Response

from tripline.domain import access, fields, import_drafts
from tripline.domain.access import Actor
from tripline.domain.import_drafts import Draft, State
from tripline.domain.refusals import BadParameter, Kind, NotFound, Refusal
from tripline.http import authentication, permission, uploads
from tripline.http.context import Call, context_of, imports_of
from tripline.http.operations import Value
from tripline.portal.frame import forms, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import visitor_and, visitor_of
from tripline.services import notifications, shares
from tripline.services.imports import draft_files, drafts, registration
from tripline.services.imports import kinds as import_kinds
from tripline.services.imports.kinds import ImportKind
from tripline.services.imports.limits import ManyImports
from tripline.wire import csv_files
from tripline.wire.csv_files import Encoding

CSV: Final = "text/csv"
PATIENCE_S: Final = 1.5
"""A small file is checked within this time, so the visitor sees rows instead of progress."""
BADGES: Final = {
    State.ARRIVING: "busy",
    State.MATCHING: "warning",
    State.CHECKING: "busy",
    State.CHECKED: "info",
    State.COMMITTING: "busy",
    State.DONE: "good",
}
_LOOK_S: Final = 0.05
_KIND: Final = Value("kind", str, "what the file registers", "vehicles")
_OF_FILE: Final = frozenset({Kind.BAD_PARAMETER, Kind.TOO_LARGE, Kind.CONFLICT, Kind.TIMEOUT})
_ELSEWHERE: Final = (ManyImports,)


@page("GET", "/import", access=drafts.ANY_KIND)
async def start(request: Call) -> Response[bytes]:
    """Upload a file, or continue a draft."""
    return await _start(request)


@page(
    "POST",
    "/import",
    access=drafts.ANY_KIND,
    streamed=True,
    refuses=(
        csv_files.BadFile,
        uploads.FileTooLarge,
        uploads.TooSlow,
        registration.TooManyRows,
        import_drafts.TooManyDrafts,
        ManyImports,
    ),
)
async def upload(request: Call) -> Response[bytes]:
    """Create a draft from a file."""
    context = context_of(request)
    limits, actor = imports_of(request), await authentication.sender(request)
    permission.require_role(request, actor)
    access.company_of(actor)
    holder = await context.store.read_short(lambda tx: shares.holder(tx, actor))
    try:
        async with limits.arrival(holder) as arrival:
            with await forms.read(request, files=limits.most_bytes, take=arrival.take) as form:
                async with arrival.turn():
                    draft, encoding = await _received(request, actor, form)
    except (*_ELSEWHERE, Refusal) as refusal:
        if refusal.kind not in _OF_FILE and not isinstance(refusal, _ELSEWHERE):
            raise
        authentication.change_nothing(request)
        notifications.send(context.signals, notifications.IMPORT_DUE)  # its worker deletes the partial draft
        sent_form = forms.sent(request)
        return await _start(request, error=refusal, typed={} if sent_form is None else sent_form.typed)
    notifications.send(context.signals, notifications.IMPORT_DUE)
    await settled(request, draft)
    notice = None if encoding is Encoding.UTF_8 else "portal.import.read_as"
    return views.moved(request, f"/import/{draft.id}", notice=notice, notice_kind="info", encoding=encoding)


@page("GET", "/import/samples/{kind}", access=drafts.ANY_KIND, in_path=(_KIND,), answer_type=CSV)
async def sample(request: Call) -> Response[bytes]:
    """A sample file with every column, with headings in the visitor's language."""
    visitor = await visitor_of(request)
    kind = _kind(request.path_params["kind"])
    access.scope_of(visitor.actor, kind.action)
    content = draft_files.sample(kind, visitor.language)
    return views.download(content, name=f"{kind.noun}.csv", media_type=CSV)


async def settled(request: Call, draft: Draft) -> None:
    """Wait briefly until the work on the draft is done."""
    context = context_of(request)
    left_s = PATIENCE_S
    while left_s > 0:
        now = await context.store.read_short(lambda tx: drafts.state_of(tx, draft.id))
        if now not in import_drafts.WORKED_ON:
            return
        await asyncio.sleep(_LOOK_S)
        left_s -= _LOOK_S


async def _received(request: Call, actor: Actor, form: forms.Form) -> tuple[Draft, Encoding]:
    """Return the draft of the form's file, and the encoding used to read it."""
    context = context_of(request)
    sent = form.file("file")
    if sent is None:
        raise BadParameter.missing("file")
    encoding = fields.one_of("encoding", form.text("encoding"), list(Encoding))
    return await drafts.receive(
        context.store,
        sent.file,
        actor=actor,
        kind=_kind(form.text("kind")),
        name=sent.name,
        encoding=None if encoding is None else Encoding(encoding),
        most_rows=imports_of(request).most_rows,
        ids=context.ids,
        clock=context.clock,
    )


async def _start(request: Call, **values: Any) -> Response[bytes]:
    context = context_of(request)
    visitor, mine = await visitor_and(
        request, lambda tx, visitor: drafts.listed(tx, actor=visitor.actor, now_ms=context.clock())
    )
    if visitor.company is None:
        return views.without_company(request, title="portal.import.title")
    state = views.state_of([(each.id, each.state, each.rows, each.bad) for each in mine])
    if views.is_shown(request, state):
        return views.unchanged()
    kinds = [kind.noun for kind in import_kinds.KINDS.values() if visitor.may(kind.action)]
    return views.show(
        request,
        "imports/start.html",
        title="portal.import.title",
        fragment="drafts" if views.target_of(request) == "own-drafts" else views.CONTENT,
        labels={"file": "portal.import.file", "encoding": "portal.import.encoding"},
        kinds=kinds,
        choices=[(kind, visitor.say(f"portal.import.kind.{kind}")) for kind in kinds],
        encodings=[(each, visitor.say(f"portal.import.encoding.{each}")) for each in Encoding],
        badges=BADGES,
        drafts=mine,
        state=state,
        worked_on=any(each.state in import_drafts.WORKED_ON for each in mine),
        most_mib=imports_of(request).most_bytes // 2**20,
        most_rows=imports_of(request).most_rows,
        **values,
    )


def _kind(noun: str) -> ImportKind:
    """The kind of this name. Raises `NotFound`."""
    kind = import_kinds.KINDS.get(noun)
    if kind is None:
        raise NotFound("kind")
    return kind
