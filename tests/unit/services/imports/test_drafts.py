"""Drafts of imports: files become rows with verdicts, within bounds, for their owner, for a day."""

import asyncio
import time
from contextlib import nullcontext
from functools import partial

import pytest
from sqlalchemy import func, select
from tests.support import drafts as support
from tests.support import rest
from tests.support.drafts import Office, office

from tripline.domain import import_drafts
from tripline.domain.access import Authority
from tripline.domain.import_drafts import CELL_MAX, KEPT_MS, BadMatch, NotNow, RowState, State, TooManyDrafts
from tripline.domain.refusals import Forbidden, NotFound
from tripline.language import catalogue
from tripline.services.imports import draft_files, draft_pages, draft_rows, drafts
from tripline.services.imports import kinds as import_kinds
from tripline.services.imports.draft_files import Words
from tripline.services.imports.draft_rows import ROWS
from tripline.services.imports.registration import TooManyRows
from tripline.services.shares import Turns
from tripline.store.tables import import_draft, import_row
from tripline.wire import csv_files

FILE = "차량번호,제조사,주행거리(km),색상\n12가3456,Kia,10,red\n34나5678,Kia,0,\n12가3456,Kia,-1,x\n12가3456,Kia,5,\n"


async def count(app, table):
    return (await app.store.read(lambda tx: tx.one(select(func.count()).select_from(table))))[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp949"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
async def test_columns_are_matched_by_their_headings_and_every_row_has_its_verdict(desk, encoding, separator):
    draft = await desk.checked(FILE.replace(",", separator).encode(encoding))
    rows = await desk.rows(draft)

    assert draft.columns == ("vehicleNo", "vendor", "mileage", None)
    assert (draft.state, draft.rows, draft.good, draft.bad, draft.duplicate) == (State.CHECKED, 4, 1, 2, 1)
    assert rows == [
        (2, "GOOD", []),
        (3, "BAD", [("mileage", "Parameter 'mileage' can't be empty!")]),
        (4, "BAD", [("mileage", "Parameter 'mileage' must be more than 0.")]),
        (5, "DUPLICATE", [("vehicleNo", "Parameter 'vehicleNo' is the same as in row 2.")]),
    ]


async def test_every_bad_cell_of_a_row_is_named(desk):
    draft = await desk.checked(b"vehicleNo,mileage,fuelType,modelYear\n,x,WOOD,1850\nA,1,,,surplus\n")
    bad, surplus = await desk.rows(draft)

    assert {field for field, _ in bad[2]} == {"vehicleNo", "mileage", "fuelType", "modelYear"}
    assert surplus == (3, "BAD", [(None, "The row has more cells than the header has columns.")])


async def test_numbers_in_other_forms_are_duplicates(app: rest.Rest, desk):
    await app.post(desk.login, "/vehicle", {"vehicleNo": "K1", "mileage": 1})
    draft = await desk.checked("vehicleNo,mileage\nk 1,1\nK2,1\nK2\u200b,1\nK3,1\n".encode())

    assert [(row, state) for row, state, _ in (await desk.rows(draft))] == [
        (2, "DUPLICATE"),
        (3, "GOOD"),
        (4, "DUPLICATE"),
        (5, "GOOD"),
    ]


async def test_names_that_are_registered_are_duplicates(app: rest.Rest, desk):
    await app.post(desk.login, "/vehicle", {"vehicleNo": "000001", "mileage": 1})
    draft = await desk.checked(support.vehicles(3))
    rows = (await desk.page(draft, RowState.DUPLICATE)).rows

    sentence = "Parameter 'vehicleNo': a vehicle with the number 000001 is already registered."
    assert [support.told(row) for row in rows] == [(3, "DUPLICATE", [("vehicleNo", sentence)])]
    assert (draft.good, draft.duplicate) == (2, 1)


@pytest.mark.parametrize(
    "header", ["차량번호,주행거리,차량번호", "vehicleNo,mileage,Plate", "차량번호,주행거리,색상,색상"]
)
async def test_file_with_a_repeated_column_is_refused(app: rest.Rest, desk, header):
    with pytest.raises(csv_files.BadFile) as refused:
        await desk.upload(f"{header}\nA,1,B,C\n".encode())

    assert (refused.value.case.startswith("columns_"), await count(app, import_draft)) == (True, 0)


async def test_columns_are_matched_by_hand(desk):
    draft = await desk.upload(b"plate of the car,how far\nA,1\n")
    await desk.work()
    waits = await desk.read(draft)
    for columns, field in ((("vehicleNo", "vehicleNo"), "vehicleNo"), (("vehicleNo", None), "mileage")):
        with pytest.raises(BadMatch) as refused:
            await desk.does(draft, drafts.match, columns=columns)
        assert refused.value.field == field
    for columns in (("vehicleNo",), ("vehicleNo", "serialNo")):
        with pytest.raises(BadMatch):
            await desk.does(draft, drafts.match, columns=columns)
    await desk.does(draft, drafts.match, columns=("vehicleNo", "mileage"))
    await desk.work()
    checked = await desk.read(draft)

    assert (waits.state, waits.columns) == (State.MATCHING, (None, None))
    assert (checked.state, checked.good) == (State.CHECKED, 1)


async def test_rows_of_a_file_are_bounded(app: rest.Rest, desk):
    for most in (2, 3):
        await desk.upload(support.vehicles(2), most_rows=most)
    with pytest.raises(TooManyRows):
        await desk.upload(support.vehicles(2), most_rows=1)
    kept, listed = (
        await count(app, import_draft),
        len(await app.store.read(lambda tx: drafts.listed(tx, **desk._asking))),
    )

    assert listed == 2
    assert kept == 3  # the refused one waits to be swept


@pytest.mark.parametrize(("columns", "is_taken"), [(99, True), (100, True), (101, False)])
def test_columns_of_a_file_are_bounded(tmp_path, columns, is_taken):
    async def scenario(app):
        desk = await office(app)
        await desk.upload(b",".join(b"%d" % each for each in range(columns)) + b"\n1\n")

    if is_taken:
        rest.run(tmp_path, scenario)
    else:
        with pytest.raises(csv_files.BadFile):
            rest.run(tmp_path, scenario)


@pytest.mark.parametrize(("length", "is_taken"), [(CELL_MAX - 1, True), (CELL_MAX, True), (CELL_MAX + 1, False)])
def test_characters_of_a_cell_are_bounded(tmp_path, length, is_taken):
    async def scenario(app):
        desk = await office(app)
        await desk.upload(b"vehicleNo\n" + b"x" * length + b"\n")

    if is_taken:
        rest.run(tmp_path, scenario)
    else:
        with pytest.raises(csv_files.BadFile) as refused:
            rest.run(tmp_path, scenario)
        assert refused.value.case == "cell_long"


@pytest.mark.parametrize(("content", "case"), [(b"", "empty"), (b"vehicleNo,mileage\n", "no_rows"), (b"\0", "nul")])
async def test_file_without_rows_is_refused_and_leaves_no_draft(app: rest.Rest, desk, content, case):
    with pytest.raises(csv_files.BadFile) as refused:
        await desk.upload(content)

    assert (refused.value.case, await app.store.read(lambda tx: drafts.listed(tx, **desk._asking))) == (case, [])


async def test_drafts_of_an_account_are_bounded_until_one_is_thrown_away(desk):
    made = [await desk.upload(support.vehicles(1)) for _ in range(import_drafts.OF_ACCOUNT)]
    with pytest.raises(TooManyDrafts) as refused:
        await desk.upload(support.vehicles(1))
    await desk.does(made[0], drafts.throw_away)
    await desk.work()
    await desk.upload(support.vehicles(1))

    assert refused.value.case == "account"


async def test_discarded_draft_counts_until_its_rows_are_deleted(app: rest.Rest, desk):
    for _ in range(import_drafts.OF_ACCOUNT):
        await desk.does(await desk.upload(support.vehicles(1)), drafts.throw_away)
    with pytest.raises(TooManyDrafts):
        await desk.upload(support.vehicles(1))
    full = await count(app, import_row)
    await desk.work()
    await desk.upload(support.vehicles(1))

    assert (full, await count(app, import_row)) == (import_drafts.OF_ACCOUNT, 1)


async def test_file_that_is_refused_in_its_middle_counts_until_its_rows_are_deleted(app: rest.Rest, desk):
    for _ in range(import_drafts.OF_ACCOUNT):
        with pytest.raises(TooManyRows):
            await desk.upload(support.vehicles(2 * ROWS), most_rows=2 * ROWS - 1)
    with pytest.raises(TooManyDrafts):
        await desk.upload(support.vehicles(1))
    await desk.work()

    assert (await count(app, import_row), (await desk.upload(support.vehicles(1))).rows) == (0, 1)


@pytest.mark.parametrize("case", ["company", "operator"])
async def test_drafts_of_a_company_and_of_an_operator_with_its_partners_are_bounded(app: rest.Rest, monkeypatch, case):
    monkeypatch.setattr(f"tripline.services.imports.drafts.OF_{case.upper()}", 2)

    desk = await office(app)
    another = await app.person(desk.login, Authority.DIRECTOR, "d")
    partner = (await app.partner(desk.login, "p@x.example"))[1]
    other = Office(app, another if case == "company" else partner)
    await desk.upload(support.vehicles(1))
    await other.upload(support.vehicles(1))
    with pytest.raises(TooManyDrafts) as refused:
        await desk.upload(support.vehicles(1))
    await Office(app, (await app.operator("bus"))[1]).upload(support.vehicles(1))

    assert refused.value.case == case


async def test_nobody_else_sees_a_draft(app: rest.Rest, desk):
    draft = await desk.checked(support.vehicles(1))
    director = Office(app, await app.person(desk.login, Authority.DIRECTOR, "d"))
    driver = Office(app, await app.person(desk.login, Authority.DRIVER, "e"))
    stranger = Office(app, (await app.operator("bus"))[1])
    for other in (director, driver, stranger):
        for what in (other.read(draft), other.page(draft), other.edit(draft, 2, {0: "x"})):
            with pytest.raises(Forbidden):
                await what
        for change in (drafts.check, drafts.commit, drafts.cancel, drafts.throw_away):
            with pytest.raises(Forbidden):
                await other.does(draft, change)
        with pytest.raises(Forbidden):
            await other.does(draft, drafts.match, columns=draft.columns)
    lists = [await app.store.read(lambda tx, o=o: drafts.listed(tx, **o._asking)) for o in (director, stranger)]

    assert (lists, await desk.read(draft) == draft) == ([[], []], True)


async def test_director_imports_vehicles_and_no_sensors(app: rest.Rest, desk):
    director = Office(app, await app.person(desk.login, Authority.DIRECTOR, "d"))
    draft = await director.checked(support.vehicles(1))
    with pytest.raises(Forbidden):
        await director.upload(b"serialNo\nx\n", "sensors")

    assert draft.good == 1


async def test_draft_is_gone_after_a_day_and_swept_with_its_rows(app: rest.Rest, desk):
    draft = await desk.checked(support.vehicles(3))
    app.now_ms += KEPT_MS - 1
    await desk.read(draft)
    await desk.work()
    kept = await count(app, import_row)
    app.now_ms += 1
    with pytest.raises(NotFound):
        await desk.read(draft)
    await desk.work()

    assert (kept, await count(app, import_row), await count(app, import_draft)) == (3, 0, 0)


async def test_draft_whose_file_never_came_to_its_end_is_gone_after_an_hour(app: rest.Rest, monkeypatch):
    class Died(Exception):  # noqa: N818
        pass

    async def dying(*_):
        raise Died

    desk = await office(app)
    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr("tripline.services.imports.drafts._keep", dying)
        await desk.upload(support.vehicles(1))
    before = await app.store.read(lambda tx: drafts.listed(tx, **desk._asking))
    with pytest.raises(NotNow):
        await desk.page(before[0])
    app.now_ms += import_drafts.ARRIVING_MS

    assert [each.state for each in before] == [State.ARRIVING]
    assert await app.store.read(lambda tx: drafts.listed(tx, **desk._asking)) == []


async def test_pages_go_by_row_and_back(desk):
    content = support.vehicles(ROWS + 40).replace(b",Hyundai,", b",,").splitlines(keepends=True)
    bad = {at: line.rpartition(b",")[0] + b",x\n" for at, line in enumerate(content) if at and at % 20 == 0}
    draft = await desk.checked(b"".join(bad.get(at, line) for at, line in enumerate(content)))
    found, after, pages = [], None, []
    while True:
        ends = {} if after is None else {"after": after}
        page = await desk.page(draft, RowState.BAD, 5, **ends)
        pages.append(page)
        found += [row.number for row in page.rows]
        after = page.after
        if after is None:
            break
    back = await desk.page(draft, RowState.BAD, 5, before=pages[-1].before)
    last_good = await desk.page(draft, RowState.GOOD, 5, before=10**6)
    bad, last_good = sorted(at + 1 for at in bad), [row.number for row in last_good.rows]

    assert found == bad
    assert [support.told(row) for row in back.rows] == [support.told(row) for row in pages[-2].rows]
    assert (pages[0].before, back.before) == (None, pages[-2].rows[0].number)
    assert last_good == [536, 537, 538, 539, 540]


def searched_file(rows):
    """Rows of which every third is bad, with one column that nobody sees; it says "kia" in each, the others in every
    third, so that a page of these takes more than one block."""
    lines = (
        f"{at % 7:02d}가{at:04d},{('Kia', 'HYUNDAI', '기아 K')[at % 3]},{'x' if at % 3 == 0 else at},secret{at} kia"
        for at in range(rows)
    )
    return "\n".join(["차량번호,제조사,주행거리(km),색상", *lines]).encode()


SOUGHT = [
    "1",
    "hyundai",
    "KIA",
    "가0",
    "03가0003",
    "999",
    "171",
    "2",
    "x",
    "secret",
    "기아 k",
    " 가0149 ",
    "",
    " ",
    "\0",
]


async def walked(desk, draft, text, state):
    """Numbers of the rows that a search finds: from the first page on, and back from the last."""
    there, ends = [], {}
    while ends is not None:
        page = await desk.page(draft, state, 21, search=text, **ends)
        there += [row.number for row in page.rows]
        ends = None if page.after is None else {"after": page.after}
    back, ends = [], {"before": 10**6}
    while ends is not None:
        page = await desk.page(draft, state, 21, search=text, **ends)
        back = [*(row.number for row in page.rows), *back]
        ends = None if page.before is None else {"before": page.before}
    return there, back


async def test_rows_are_searched_by_number_and_by_what_is_seen_of_their_cells(app: rest.Rest, monkeypatch):
    monkeypatch.setattr(draft_rows, "ROWS", 54)
    states = (None, RowState.GOOD, RowState.BAD)

    desk = await office(app)
    draft = await desk.checked(searched_file(170))
    every, after = [], 0
    while after is not None:
        page = await desk.page(draft, None, 200, after=after)
        every += page.rows
        after = page.after
    found = {(text, state): await walked(desk, draft, text, state) for text in SOUGHT for state in states}

    def is_meant(row, text):
        sought = text.strip(" \0").lower()
        return str(row.number) == sought or any(sought in cell.lower() for cell in row.cells[:3])

    wanted = {
        (text, state): [row.number for row in every if state in (None, row.state) and is_meant(row, text)]
        for text in SOUGHT
        for state in states
    }
    assert len(every) == 170
    assert wanted["171", None] == [171]
    assert found == {asked: (numbers, numbers) for asked, numbers in wanted.items()}


async def test_sample_files_can_be_uploaded_as_they_are(desk):
    found = []
    for noun, kind in import_kinds.KINDS.items():
        for language in ("en", "ko"):
            draft = await desk.checked(draft_files.sample(kind, language), noun)
            found.append((draft.rows, draft.good, None in draft.columns))

    assert found == [(2, 2, False)] * 4


async def test_file_of_bad_rows_has_reasons_runs_nothing_and_comes_back_as_it_was(app: rest.Rest, desk):
    content = b'vehicleNo,mileage,vendor\nA,1,Kia\n"=1+1",0,"-x"\nA,2,@y\n'

    draft = await desk.checked(content)
    words = Words("row", "reason", lambda refusal: refusal.case)
    file = b"".join([piece async for piece in draft_files.bad_rows(app.store, draft, words, nullcontext)])
    again = await desk.checked(file)
    second = b"".join([piece async for piece in draft_files.bad_rows(app.store, again, words, nullcontext)])
    cells = [row.cells[:3] for row in (await desk.page(again)).rows]
    lines, again, second = file.decode("utf-8-sig").splitlines(), cells, second.decode("utf-8-sig").splitlines()

    assert lines == ["vehicleNo,mileage,vendor,row,reason", "'=1+1,0,'-x,3,zero", "A,2,'@y,4,repeated"]
    assert again == [["=1+1", "0", "-x"], ["A", "2", "@y"]]
    assert second == ["vehicleNo,mileage,vendor,row,reason", "'=1+1,0,'-x,2,zero"]


@pytest.mark.parametrize(("most", "is_refused"), [(2, True), (3, False), (4, False)])
def test_rows_of_a_file_of_bad_rows_are_bounded(tmp_path, monkeypatch, most, is_refused):
    monkeypatch.setattr(draft_files, "DOWNLOADED", most)

    async def scenario(app):
        desk = await office(app)
        draft = await desk.checked(FILE.encode())
        try:
            draft_files.require_few(draft)
        except draft_files.TooManyBadRows as refusal:
            return catalogue.sentence(refusal)
        return ""

    sentence = rest.run(tmp_path, scenario)

    assert ("3 rows that cannot be registered" in sentence) == is_refused
    assert ("the maximum in one file is 2" in sentence) == is_refused


async def test_file_of_bad_rows_names_the_first_rows_of_its_time(app: rest.Rest, desk):
    rows = "".join(f"{at % 600:04},1\n" for at in range(3 * ROWS))
    draft = await desk.checked(f"vehicleNo,mileage\n{rows}".encode())
    pieces = draft_files.bad_rows(app.store, draft, Words("row", "reason", catalogue.sentence), nullcontext)
    found = [await anext(pieces) for _ in range(2)]
    await desk.edit(draft, 2, {0: "0601"})
    found += [piece async for piece in pieces]
    lines = b"".join(found).decode("utf-8-sig").splitlines()

    assert draft.duplicate == 900
    # The row that was changed had the name first; then it is the next one's.
    assert lines[1] == "0000,1,602,Parameter 'vehicleNo' is the same as in row 2."
    assert lines[-300] == "0000,1,1202,Parameter 'vehicleNo' is the same as in row 602."


async def test_bad_rows_are_written_by_one_at_a_time_however_many_download(app: rest.Rest, monkeypatch):
    written, at_once, most = draft_files._written, 0, 0

    def watched(*args):
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        try:
            time.sleep(0.005)
            return written(*args)
        finally:
            at_once -= 1

    monkeypatch.setattr(draft_files, "_written", watched)

    desk, turns = await office(app), Turns()
    draft = await desk.checked(b"vehicleNo,mileage\nA,x\n" + b"B,x\n" * (2 * ROWS))
    words = Words("row", "reason", catalogue.sentence)

    async def one(operator):
        pieces = draft_files.bad_rows(app.store, draft, words, partial(turns.turn, operator))
        return b"".join([piece async for piece in pieces])

    files = await asyncio.gather(*(one(operator) for operator in "aab"))

    assert most == 1
    assert len(set(files)) == 1
    assert files[0].count(b"\r\n") == 2 * ROWS + 2


@pytest.mark.parametrize(("searched", "is_refused"), [(3 * ROWS, False), (3 * ROWS - 1, True)])
def test_search_looks_through_a_bounded_part_of_a_draft(tmp_path, monkeypatch, searched, is_refused):
    monkeypatch.setattr(draft_pages, "SEARCHED", searched)

    async def scenario(app):
        desk = await office(app)
        rows = "".join(f"{at:04},1,needle\n" for at in range(3 * ROWS))
        draft = await desk.checked(f"vehicleNo,mileage,note\n{rows}".encode())
        try:
            return (await desk.page(draft, search="needle")).rows
        except draft_pages.SearchTooLong as refusal:
            return refusal.field, catalogue.sentence(refusal)

    found = rest.run(tmp_path, scenario)

    if is_refused:
        assert found[0] == "q"
        assert found[1].startswith("Parameter 'q': the search would read more than 1,499 rows.")
    else:
        assert found == []
