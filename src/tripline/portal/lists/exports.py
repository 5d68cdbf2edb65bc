"""Exports of lists: request a file, show its progress, download it. An export is visible only to its owner."""

import datetime as dt
import unicodedata
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

import msgspec
from litestar.datastructures import MultiDict
from litestar.response import Response, Stream

from tripline import cooperative
from tripline.domain import fields
from tripline.domain.access import Actor, Gate
from tripline.domain.exports import UNFINISHED, Export, Form, State
from tripline.domain.ids import RecordId
from tripline.domain.refusals import BadParameter, NotFound
from tripline.http import changes, parameters
from tripline.http.context import Call, context_of
from tripline.language.catalogue import Language
from tripline.portal.frame import forms, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_of
from tripline.portal.lists import tables
from tripline.portal.lists.columns import Column, Words
from tripline.portal.lists.nouns import TABLES
from tripline.portal.lists.tables import ListRequest, Table
from tripline.ports.maps import PlaceNames
from tripline.services import exports as service
from tripline.services import notifications
from tripline.services.exports import Book, Sheet
from tripline.store.listing.pages import PageRequest, Place
from tripline.store.transactions import ReadTx, WriteTx

TYPES: Final = {
    Form.CSV: "text/csv; charset=utf-8",
    Form.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


class Question(msgspec.Struct, frozen=True):
    """The query of an exported list, as stored with the export."""

    asked: ListRequest
    language: Language


_QUESTIONS: Final = msgspec.json.Decoder(Question)
_JSON: Final = msgspec.json.Encoder()


class TableBook:
    """A list of the portal as a source for exports: `service.Book`."""

    def __init__(self, table: Table, zone: ZoneInfo, places: PlaceNames | None) -> None:
        self._table = table
        self._zone = zone
        self._places = places

    def heading(self, question: bytes) -> Sequence[str]:
        wanted = _QUESTIONS.decode(question)
        return [self._table.heading(each, wanted.language) for each in self._columns(wanted)]

    def count(self, tx: ReadTx, actor: Actor, question: bytes) -> int:
        """Number of rows. Raises refusals."""
        return self._table.count(tx, actor, _QUESTIONS.decode(question).asked)

    def sheet(self, tx: ReadTx, actor: Actor, question: bytes, *, after: Place | None, limit: int) -> Sheet:
        """Up to `limit` rows after the cursor. Raises refusals."""
        wanted = _QUESTIONS.decode(question)
        words = Words(wanted.language, self._zone)
        page_request = PageRequest(limit=limit, by=wanted.asked.order, descending=wanted.asked.descending, place=after)
        table = self._table
        found = table.page(tx, actor, wanted.asked, page_request)
        shown = found.rows if table.named is None else table.named(found.rows, self._places, wanted.language)
        writers = [each.writer(words) for each in self._columns(wanted)]
        rows = [[write(row) for write in writers] for row in cooperative.each(shown)]
        return Sheet(rows=rows, last=found.last if found.more_behind else None)

    def _columns(self, wanted: Question) -> list[Column]:
        return [each for each in self._table.columns if each.key in wanted.asked.columns]


def books(zone: ZoneInfo, places: PlaceNames | None = None) -> Mapping[str, Book]:
    """Every list of the portal, as a source for exports."""
    return {noun: TableBook(table, zone, places) for noun, table in TABLES.items()}


@page("POST", "/exports", access=Gate.ACCOUNT)
async def ask(request: Call) -> Response[bytes]:
    """Request a file with all rows of a list."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    noun = fields.one_of("list", form.text("list"), TABLES)
    kind = fields.one_of("form", form.text("form"), tuple(Form))
    if noun is None or kind is None:
        raise BadParameter.missing("list" if noun is None else "form")
    table = TABLES[noun]
    query = MultiDict(parse_qsl(form.text("query"), max_num_fields=100))
    wanted = tables.asked_by(request, query, table, remembered=form.text("columns"))
    return await _begun(request, visitor, table, Form(kind), wanted)


@page("POST", "/exports/{exportId}/again", access=Gate.ACCOUNT)
async def ask_again(request: Call) -> Response[bytes]:
    """Repeat an export, in the visitor's language."""
    await forms.read(request)
    visitor, found = await _found(request)
    table = TABLES.get(found.noun)
    if table is None:
        raise NotFound("export")
    return await _begun(request, visitor, table, found.form, _QUESTIONS.decode(found.question).asked)


@page("GET", "/exports", access=Gate.ACCOUNT)
async def own(request: Call) -> Response[bytes]:
    """The visitor's finished and pending exports."""
    _, found = await visitor_and(request, lambda tx, visitor: service.own(tx, actor=visitor.actor))
    state = views.state_of([(each.id, each.state, each.done) for each in found])
    if views.is_shown(request, state):
        return views.unchanged()
    return views.show(
        request,
        "exports/list.html",
        title="portal.exports.title",
        fragment="files" if views.target_of(request) == "files" else views.CONTENT,
        exports=found,
        state=state,
        unfinished=any(each.state in UNFINISHED for each in found),
    )


@page("GET", "/exports/{exportId}", access=Gate.ACCOUNT)
async def one(request: Call) -> Response[bytes]:
    """Progress of an export, with the download link."""
    _, found = await _found(request)
    return views.show(
        request,
        "exports/one.html",
        title=views.Plain(found.name),
        fragment="progress" if views.target_of(request) == "export" else views.CONTENT,
        export=found,
        unfinished=found.state in UNFINISHED,
        done=found.state is State.DONE,
        back=TABLES[found.noun].path if found.noun in TABLES else "/fleet",
    )


@page("POST", "/exports/{exportId}/cancel", access=Gate.ACCOUNT)
async def cancel(request: Call) -> Response[bytes]:
    """Cancel the file."""
    await forms.read(request)
    export_id = RecordId(parameters.path_id(request, "exportId"))
    visitor = await visitor_of(request)
    await context_of(request).store.write(lambda tx: service.cancel(tx, actor=visitor.actor, export_id=export_id))
    return views.moved(request, f"/exports/{export_id}")


@page("GET", "/exports/{exportId}/file", access=Gate.ACCOUNT, answer_type="application/octet-stream")
async def file(request: Call) -> Stream:
    """The file. Raises `NotFound` and `exports.NotReady`."""
    visitor, found = await _found(request)
    store, read = context_of(request).store, partial(service.piece, actor=visitor.actor, export_id=found.id)
    first = await store.read(partial(read, no=0))

    async def streamed() -> AsyncIterator[bytes]:
        piece, no = first, 0
        while piece is not None:
            yield piece
            no += 1
            piece = await store.read(partial(read, no=no))

    return views.streamed(streamed(), name=found.name, media_type=TYPES[found.form])


async def _begun(request: Call, visitor: Visitor, table: Table, kind: Form, wanted: ListRequest) -> Response[bytes]:
    """Begin an export and go to its page. Raises refusals of the list, and `ManyExports`."""
    question = Question(msgspec.structs.replace(wanted, place=None, back=False), visitor.language)
    context, by = context_of(request), changes.by(request, visitor.actor)

    def work(tx: WriteTx) -> tuple[Export, notifications.Notification]:
        # Check the visitor's access to the list.
        table.page(tx, visitor.actor, wanted, PageRequest(limit=1, by=wanted.order))
        return service.begin(
            tx,
            **by,
            noun=table.noun,
            form=kind,
            question=_JSON.encode(question),
            name=_name(visitor, table, kind, context.time_zone, by["now_ms"]),
        )

    new, notification = await context.store.write(work)
    notifications.send(context.signals, [notification])
    return views.moved(request, f"/exports/{new.id}")


async def _found(request: Call) -> tuple[Visitor, Export]:
    export_id = RecordId(parameters.path_id(request, "exportId"))
    return await visitor_and(request, lambda tx, visitor: service.read(tx, actor=visitor.actor, export_id=export_id))


def _name(visitor: Visitor, table: Table, kind: Form, zone: ZoneInfo, now_ms: int) -> str:
    """File name: the list and the day, in the visitor's language."""
    day = f"{dt.datetime.fromtimestamp(now_ms / 1_000, zone):%Y-%m-%d %H%M}"
    title = visitor.say(f"portal.lists.{table.noun}.title")
    return unicodedata.normalize("NFC", f"{title} {day}.{kind.value}")
