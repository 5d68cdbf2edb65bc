"""Mending rows of a draft: what changes with a row, and nothing else, is checked anew."""

import asyncio

import pytest
from tests.support import drafts as support

from tripline.domain.fields import TooLong
from tripline.domain.import_drafts import CELL_MAX, NotNow, RowState
from tripline.domain.refusals import BadParameter, NotFound
from tripline.services.imports import drafts
from tripline.services.imports.draft_rows import ROWS
from tripline.store.fleet import import_rows

HEADER = b"vehicleNo,mileage\n"


def states(rows):
    return [state for _, state, _ in rows]


async def test_mended_cell_makes_its_row_good(desk):
    draft = await desk.checked(HEADER + b"A,1\nB,x\n")
    mended = await desk.edit(draft, 3, {1: "7"})
    kept, row = await desk.read(draft), (await desk.page(draft)).rows[1]

    assert mended == kept
    assert (draft.good, draft.bad, mended.good, mended.bad) == (1, 1, 2, 0)
    assert (list(row.cells), row.state) == (["B", "7"], RowState.GOOD)


async def test_first_row_that_gives_its_name_away_leaves_it_to_the_next(desk):
    draft = await desk.checked(HEADER + b"A,1\nA,2\nA,3\n")
    before = await desk.rows(draft)
    await desk.edit(draft, 2, {0: "B"})
    after = await desk.rows(draft)

    same = "Parameter 'vehicleNo' is the same as in row"
    assert [each[2] for each in before] == [[], [("vehicleNo", f"{same} 2.")], [("vehicleNo", f"{same} 2.")]]
    assert [each[2] for each in after] == [[], [], [("vehicleNo", f"{same} 3.")]]


async def test_row_that_takes_the_name_of_a_later_one_makes_that_the_duplicate(desk):
    draft = await desk.checked(HEADER + b"A,1\nB,2\nB,3\n")
    await desk.edit(draft, 2, {0: "B"})

    assert states(await desk.rows(draft)) == ["GOOD", "DUPLICATE", "DUPLICATE"]


async def test_row_that_is_left_out_claims_no_name_until_it_is_taken_in_again(desk):
    draft = await desk.checked(HEADER + b"A,1\nA,2\n")
    out = await desk.edit(draft, 2, skip=True)
    first = await desk.rows(draft)
    await desk.does(draft, drafts.check)
    await desk.work()
    still = await desk.rows(draft)
    await desk.edit(draft, 2, skip=False)
    again = await desk.rows(draft)

    assert (out.good, out.skipped, out.duplicate) == (1, 1, 0)
    assert states(first) == states(still) == ["SKIPPED", "GOOD"]
    assert states(again) == ["GOOD", "DUPLICATE"]


async def test_names_are_found_in_every_row(desk):
    draft = await desk.checked(support.vehicles(2 * ROWS + 1) + b"000000,x,1\n")
    before = (await desk.page(draft, RowState.DUPLICATE)).rows
    await desk.edit(draft, 2, {0: "new"})
    after = await desk.read(draft)

    assert [(row.number, row.refusals[0].values["row"]) for row in before] == [(2 * ROWS + 3, 2)]
    assert (after.good, after.duplicate) == (2 * ROWS + 2, 0)


async def test_only_rows_whose_verdicts_may_change_are_written(desk, monkeypatch):
    written = []

    draft = await desk.checked(HEADER + b"A,1\nB,2\nB,3\nB,4\nC,5\n")
    write = import_rows.write
    monkeypatch.setattr(
        import_rows, "write", lambda tx, of, rows: (written.extend(r.number for r in rows), write(tx, of, rows))
    )
    await desk.edit(draft, 3, {0: "C"})

    assert set(written) == {3, 4, 6}


async def test_names_of_sensors_are_two(desk):
    tokens = ["a" * 20, "b" * 20]
    lines = [("S1", tokens[0]), ("S2", tokens[0]), ("S1", tokens[1])]

    content = "serialNo,credentialsId,type\n" + "".join(f"{serial},{token},GPS\n" for serial, token in lines)
    draft = await desk.checked(content.encode(), "sensors")
    before = await desk.rows(draft)
    await desk.edit(draft, 2, {0: "S9", 1: "c" * 20})
    after = await desk.rows(draft)

    assert [(state, [field for field, _ in told]) for _, state, told in before] == [
        ("GOOD", []),
        ("DUPLICATE", ["credentialsId"]),
        ("DUPLICATE", ["serialNo"]),
    ]
    assert states(after) == ["GOOD"] * 3


async def test_cells_beyond_the_header_are_mended_by_emptying_them(desk):
    draft = await desk.checked(HEADER + b"A,1,x\n")
    await desk.edit(draft, 2, {2: ""})
    row = (await desk.page(draft)).rows[0]

    assert (list(row.cells), row.state) == (["A", "1"], RowState.GOOD)


async def test_long_text_beyond_the_header_is_refused_by_its_column(desk):
    draft = await desk.checked(HEADER + b"A,1,x\n")
    with pytest.raises(TooLong) as refused:
        await desk.edit(draft, 2, {2: "x" * (CELL_MAX + 1)})

    assert refused.value.field == "3"


@pytest.mark.parametrize(
    ("number", "cells", "refusal"),
    [
        (3, {0: "x"}, NotFound),
        (1, {0: "x"}, NotFound),
        (2, {2: "x"}, BadParameter),
        (2, {-1: "x"}, BadParameter),
        (2, {0: "x" * (CELL_MAX + 1)}, TooLong),
    ],
)
async def test_what_is_not_there_cannot_be_mended(desk, number, cells, refusal):
    draft = await desk.checked(HEADER + b"A,1\n")
    with pytest.raises(refusal):
        await desk.edit(draft, number, cells)

    assert await desk.read(draft) == draft


async def test_draft_that_is_not_checked_cannot_be_mended(desk):
    draft = await desk.upload(HEADER + b"A,1\n")
    with pytest.raises(NotNow):
        await desk.edit(draft, 2, {0: "B"})


async def test_edits_at_the_same_time_are_all_kept(desk):
    draft = await desk.checked(HEADER + b"A,x\nB,x\n")
    await asyncio.gather(desk.edit(draft, 2, {1: "1"}), desk.edit(draft, 3, {1: "2"}))
    kept = await desk.read(draft)
    found = kept.good, kept.bad, [list(row.cells) for row in (await desk.page(draft)).rows]

    assert found == (2, 0, [["A", "1"], ["B", "2"]])
