"""Exports: a file of all rows for their owner, made in pieces, cancelled, taken over, forgotten."""

import asyncio
import csv
import io
import tempfile
import zipfile
from contextlib import closing
from xml.etree import ElementTree

import pytest
from sqlalchemy import func, insert, select, update
from tests.support import stores, waits
from tests.support.refused import refused

from tripline.adapters.signals.local import LocalSignals
from tripline.domain.access import Actor, Authority
from tripline.domain.exports import KEPT, KEPT_MS, OF_ACCOUNT, Event, Form, ManyExports, NotReady, State
from tripline.domain.ids import CompanyId, TimeIds, UserId
from tripline.domain.refusals import Forbidden, NotFound
from tripline.domain.shares import Shares
from tripline.services import exports
from tripline.services.exports import Exporter, Sheet
from tripline.store import exports as rows
from tripline.store.listing.pages import Place
from tripline.store.tables import account, company, export, export_piece

NOW = 1_760_000_000_000
KIM = Actor(UserId("00000000-0000-11ef-8000-0000000000aa"), Authority.COMPANY_ADMIN, CompanyId("c"))
LEE = Actor(UserId("00000000-0000-11ef-8000-0000000000bb"), Authority.COMPANY_ADMIN, CompanyId("c"))
CELLS = ["=1+1", "+82", "-3", "@x", "x;=cmd", "plain", '<b>&"', "한글", "a,b\n"]
"""What formulas begin with, and what files have to escape."""


class Numbers:
    """A list of numbers; `question` says how many."""

    def __init__(self):
        self.between = None
        self.refusal = None

    def heading(self, question):
        return ["number", "text", "nothing"]

    def count(self, tx, actor, question):
        return int(question)

    def sheet(self, tx, actor, question, *, after, limit):
        if self.refusal is not None:
            raise self.refusal
        first = 0 if after is None else int(after.value) + 1
        numbers = range(first, min(first + limit, int(question)))
        last = Place(numbers[-1], "") if numbers and numbers[-1] + 1 < int(question) else None
        return Sheet(rows=[[n, CELLS[n % len(CELLS)], None] for n in numbers], last=last)


class Desk:
    """A store with two accounts, and whoever makes exports."""

    def __init__(self, store):
        self.store, self.now_ms, self.ids = store, NOW, TimeIds(node=1)
        self.book = Numbers()

    def exporter(self, name="one"):
        return Exporter(
            store=self.store,
            signals=LocalSignals(),
            clock=lambda: self.now_ms,
            maker_id=name,
            books={"numbers": self.book},
        )

    async def ask(self, count=5, *, actor=KIM, form=Form.CSV):
        def work(tx):
            return exports.begin(
                tx,
                actor=actor,
                noun="numbers",
                form=form,
                question=str(count).encode(),
                name="numbers.csv",
                ids=self.ids,
                now_ms=self.now_ms,
            )

        return (await self.store.write(work))[0]

    async def read(self, asked, actor=KIM):
        return await self.store.read(lambda tx: exports.read(tx, actor=actor, export_id=asked.id))

    async def file(self, asked, actor=KIM):
        whole, no = b"", 0
        while True:
            at = no
            piece = await self.store.read(lambda tx: exports.piece(tx, actor=actor, export_id=asked.id, no=at))  # noqa: B023
            if piece is None:
                return whole
            whole, no = whole + piece, no + 1


@pytest.fixture
async def desk(tmp_path):
    database = stores.Database(tmp_path)
    database.empty()
    store = database.open()
    await store.write(_accounts)
    yield Desk(store)
    await store.close()


def _accounts(tx):
    of = {"id": "c", "created_ms": 1, "name": "c", "service_type": "c", "token_prefix": "c"}
    tx.run(insert(company), {**of, "master": True, "master_id": "c"})
    for each in (KIM, LEE):
        person = {"id": each.user_id, "created_ms": 1, "company_id": "c", "authority": each.authority.value}
        names = {"name": "n", "email": each.user_id, "login": each.user_id, "password_hash": ""}
        tx.run(insert(account), {**person, **names, "password_updated_ms": 1, "enabled": True})


@pytest.mark.parametrize("count", [0, 1, 4, 5, 13])
async def test_csv_has_every_row_and_nothing_that_a_spreadsheet_runs(desk, monkeypatch, count):
    monkeypatch.setattr(exports, "AT_ONCE", 4)

    asked = await desk.ask(count)
    assert await desk.exporter().make_next() == 1
    done, content = await desk.read(asked), await desk.file(asked)

    assert (done.state, done.done, done.total, done.size) == (State.DONE, count, count, len(content))
    assert content.startswith(b"\xef\xbb\xbf")
    heading, *found = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    assert heading == ["number", "text", "nothing"]
    inert = [f"'{cell}" if cell[0] in "=+-@" else cell.replace(";=", ";'=") for cell in CELLS]
    assert found == [[str(n), inert[n % len(CELLS)], ""] for n in range(count)]


async def test_workbook_has_text_as_text_and_numbers_as_numbers(desk, monkeypatch):
    monkeypatch.setattr(exports, "AT_ONCE", 4)
    monkeypatch.setattr(exports, "PART", 1_000)

    asked = await desk.ask(9, form=Form.XLSX)
    await desk.exporter().make_next()
    done, content = await desk.read(asked), await desk.file(asked)

    assert (done.state, done.done, done.size) == (State.DONE, 9, len(content))
    with zipfile.ZipFile(io.BytesIO(content)) as workbook:
        sheet = ElementTree.fromstring(workbook.read("xl/worksheets/sheet1.xml"))
    name = {"of": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    assert sheet.findall(".//of:f", name) == []
    texts = ["".join(each.itertext()) for each in sheet.findall(".//of:c[@t='inlineStr']", name)]
    numbers = [each.text for each in sheet.findall(".//of:c/of:v", name)]
    assert texts == ["number", "text", "nothing", *CELLS]
    assert numbers == [str(n) for n in range(9)]


def workbook(*sheets):
    """A workbook with the rows of these sheets, one below the other."""
    with closing(exports.Xlsx()) as writer:
        for sheet in sheets:
            writer.add(sheet)
        return io.BytesIO(b"".join(iter(writer.rest, b"")))


def test_workbook_keeps_texts_and_numbers_of_every_kind():
    texts = ["_x0041_", "a_x00e9_b", "_x41_", "\x01\x1f\r", "\ufffe\uffff", "<a> & 'b'", " two  \n", "𝒳 한글"]
    numbers = [None, 0, -7, 2.5, 1e-7, 12_345_678_901]

    found = _cells(workbook([texts, []], [numbers, *[[None] * 30 + ["far"]] * 3]))

    spelled = ["_x005F_x0041_", "a_x005F_x00e9_b", "_x41_", "_x0001__x001F__x000D_", "_xFFFE__xFFFF_", *texts[5:]]
    assert found == {
        **{f"{column}1": text for column, text in zip("ABCDEFGH", spelled, strict=True)},
        **dict(zip(["B3", "C3", "D3", "E3", "F3"], numbers[1:], strict=True)),
        **{f"AE{row}": "far" for row in (4, 5, 6)},
    }


@pytest.mark.parametrize("text", ["<r>x</r>", "</t></is></c>", "<r></r>", '<r></is></c><c r="B1"><f>1+1</f></c></r>'])
def test_workbook_shows_markup_as_text(text):
    content = workbook([[text]])

    assert _cells(content) == {"A1": text}
    with zipfile.ZipFile(content) as book:
        assert b"<f>" not in book.read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize("finished", [True, False])
def test_workbook_leaves_nothing_on_the_disk(tmp_path, monkeypatch, finished):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    with closing(exports.Xlsx()) as writer:
        writer.add([["a"]])
        if finished:
            writer.rest()
        assert list(tmp_path.iterdir()) != []

    assert list(tmp_path.iterdir()) == []


def _cells(file):
    """Texts, as a workbook spells them, and numbers, by the names of their cells."""
    names = {"of": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    with zipfile.ZipFile(file) as book:
        root = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
        shared = []
        if "xl/sharedStrings.xml" in book.namelist():
            strings = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
            shared = ["".join(each.itertext()) for each in strings.findall("of:si", names)]
    found = {}
    for cell in root.findall(".//of:c", names):
        if cell.get("t") == "inlineStr":
            found[cell.get("r")] = "".join(cell.itertext())
        else:
            number = cell.findtext("of:v", namespaces=names)
            found[cell.get("r")] = shared[int(number)] if cell.get("t") == "s" else float(number)
    return found


async def test_export_is_its_owners_alone(desk):
    asked = await desk.ask()
    await desk.exporter().make_next()
    for work in (desk.read, desk.file):
        with refused(NotFound, match="no longer exists"):
            await work(asked, LEE)
    assert await desk.store.read(lambda tx: exports.own(tx, actor=LEE)) == []

    assert [each.id for each in await desk.store.read(lambda tx: exports.own(tx, actor=KIM))] == [asked.id]


async def test_file_that_is_not_ready_is_refused(desk):
    asked = await desk.ask()
    with refused(NotReady, match="not ready"):
        await desk.file(asked)


async def test_cancelled_export_goes_on_no_longer_and_leaves_no_file(desk, monkeypatch):
    monkeypatch.setattr(exports, "AT_ONCE", 2)

    asked = await desk.ask(100)
    exporter, add = desk.exporter(), Exporter._add

    async def cancelled_meanwhile(self, taken, done, no, pieces):
        if done == 6:
            await desk.store.write(lambda tx: exports.cancel(tx, actor=KIM, export_id=asked.id))
        return await add(self, taken, done, no, pieces)

    monkeypatch.setattr(Exporter, "_add", cancelled_meanwhile)
    await exporter.make_next()
    left = await desk.store.read(lambda tx: tx.all(select(func.count()).select_from(export_piece))[0][0])
    done = await desk.read(asked)

    assert (done.state, done.size, left) == (State.CANCELLED, 0, 0)


async def test_export_whose_maker_fell_silent_is_made_anew_by_another(desk):
    asked = await desk.ask(7)
    taken = await desk.store.write(lambda tx: rows.take(tx, asked.id, maker_id="gone", now_ms=NOW))
    pieces = [(0, b"half")]
    await desk.store.write(lambda tx: rows.add(tx, taken.id, maker_id="gone", now_ms=NOW, done=3, pieces=pieces))
    assert await desk.exporter("two").make_next() == 0
    desk.now_ms += rows.SILENT_MS + 1
    assert await desk.exporter("two").make_next() == 1
    late = await desk.store.write(
        lambda tx: rows.add(tx, taken.id, maker_id="gone", now_ms=NOW, done=4, pieces=[(1, b"late")])
    )
    done, content = await desk.read(asked), await desk.file(asked)

    assert not late
    assert (done.state, done.done) == (State.DONE, 7)
    assert b"half" not in content


@pytest.mark.parametrize("gone", [True, False])
async def test_export_of_what_its_owner_may_not_see_any_more_is_not_made(desk, gone):
    asked = await desk.ask()
    if gone:
        await desk.store.write(lambda tx: tx.run(update(account).values(enabled=False)))
    else:
        desk.book.refusal = Forbidden("role", role="DRIVER")
    await desk.exporter().make_next()

    assert (await desk.read(asked)).state is State.FAILED


async def test_account_has_so_many_exports_under_way_and_keeps_so_many(desk):
    for _ in range(OF_ACCOUNT):
        await desk.ask()
    with refused(ManyExports, match="already"):
        await desk.ask()
    assert (await desk.ask(actor=LEE)).state is State.WAITING
    while await desk.exporter().make_next():
        pass
    for _ in range(KEPT):
        desk.now_ms += 1
        await desk.ask()
        await desk.exporter().make_next()

    assert await desk.store.read(lambda tx: len(exports.own(tx, actor=KIM))) == KEPT


OTHERS = [
    Actor(UserId(f"00000000-0000-11ef-8000-00000000010{at}"), Authority.COMPANY_ADMIN, CompanyId(f"{name}{at}"))
    for at, name in enumerate("pppooo")
]
"""Administrators of three partners of company c, and of three other operators."""


def _other_companies(tx):
    for at, each in enumerate(OTHERS):
        of = {"id": each.company_id, "created_ms": 1, "name": "n", "token_prefix": each.company_id}
        is_partner = each.company_id.startswith("p")
        master = "c" if is_partner else each.company_id
        service_type = "c" if is_partner else each.company_id
        tx.run(insert(company), {**of, "service_type": service_type, "master": not is_partner, "master_id": master})
        person = {"id": each.user_id, "created_ms": 1, "company_id": each.company_id, "authority": "COMPANY_ADMIN"}
        names = {"name": "n", "email": f"{at}", "login": f"{at}", "password_hash": ""}
        tx.run(insert(account), {**person, **names, "password_updated_ms": 1, "enabled": True})


async def test_all_together_have_so_many_exports_under_way_and_make_room_for_another_operator(desk, monkeypatch):
    monkeypatch.setattr(exports.exports, "SHARES", Shares(total=4, operator=3, company=2, account=2))

    await desk.store.write(_other_companies)
    first = await desk.ask()
    more = [(await desk.ask(actor=each), each) for each in OTHERS[:2]]
    # The operator has its share: its partners make room for each other, and nobody else's is touched.
    third = await desk.ask(actor=OTHERS[2])
    states = [(await desk.read(first)).state, *[(await desk.read(*each)).state for each in more]]
    other = await desk.ask(actor=OTHERS[3])
    await desk.ask(actor=OTHERS[4])
    with refused(ManyExports, match="Too many"):
        await desk.ask(actor=OTHERS[3])
    after = [(await desk.read(*each)).state for each in [*more, (third, OTHERS[2]), (other, OTHERS[3])]]

    assert states == [State.FAILED, State.WAITING, State.WAITING]
    assert after == [State.FAILED, State.WAITING, State.WAITING, State.WAITING]


async def test_export_that_makes_room_while_it_is_made_is_given_up_with_its_pieces(desk, monkeypatch):
    monkeypatch.setattr(exports, "AT_ONCE", 1)
    monkeypatch.setattr(exports.exports, "SHARES", Shares(total=1, operator=1, company=1, account=1))

    await desk.store.write(_other_companies)
    asked = await desk.ask(3)
    add = rows.add

    def add_and_lose(tx, *args, **values):
        held = add(tx, *args, **values)
        if values["done"] == 2:
            rows.give_way(tx, asked.id)
        return held

    with monkeypatch.context() as patch:
        patch.setattr(rows, "add", add_and_lose)
        await desk.exporter().make_next()
    pieces = await desk.store.read(lambda tx: tx.all(select(func.count()).select_from(export_piece))[0][0])

    assert ((await desk.read(asked)).state, pieces) == (State.FAILED, 0)


async def test_operators_take_turns_and_one_that_is_under_way_keeps_no_other_waiting(desk):
    order = []

    await desk.store.write(_other_companies)
    names = {}
    for actor, name in [(KIM, "c"), (KIM, "c"), (OTHERS[0], "partner"), (OTHERS[3], "o3"), (OTHERS[4], "o4")]:
        names[(await desk.ask(actor=actor)).id] = name
        desk.now_ms += 1
    exporter, first = desk.exporter(), asyncio.Event()

    async def made(taken):
        order.append(names[taken.id])
        await desk.store.write(lambda tx: rows.finish(tx, taken.id, maker_id="one", event=Event.FINISH, now_ms=NOW))
        if len(order) == 1:
            await first.wait()

    exporter._make = made
    held = asyncio.ensure_future(exporter.make_next())
    await waits.until(lambda: order)
    await exporter.make_next()
    await exporter.make_next()
    beside = await exporter.make_next()
    first.set()
    await held
    while await exporter.make_next():
        pass

    assert beside == 0
    assert order == ["c", "o3", "o4", "c", "partner"]


async def test_file_is_forgotten_after_its_time(desk):
    asked = await desk.ask()
    await desk.exporter().make_next()
    desk.now_ms += KEPT_MS - 1
    assert await desk.exporter().make_next() == 0
    assert await desk.file(asked)
    desk.now_ms += 2
    assert await desk.exporter().make_next() == 1

    assert await desk.store.read(
        lambda tx: [tx.all(select(func.count()).select_from(table))[0][0] for table in (export, export_piece)]
    ) == [0, 0]
