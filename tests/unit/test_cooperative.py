"""Long loops on threads pause, so that the event loop gets the interpreter."""

import io
import itertools
from contextlib import closing
from types import SimpleNamespace

import pytest

from tripline import cooperative
from tripline.domain import import_drafts, vehicles
from tripline.domain.access import Actor, Authority
from tripline.domain.companies import Company, Details
from tripline.domain.ids import CompanyId, TimeIds, UserId
from tripline.domain.import_drafts import Draft, DraftId, RowState
from tripline.domain.refusals import BadParameter
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.services import exports
from tripline.services.imports import draft_files, draft_worker
from tripline.services.imports import kinds as import_kinds
from tripline.services.imports.draft_rows import Examined
from tripline.services.imports.draft_worker import Check
from tripline.store.fleet.import_rows import Row
from tripline.wire import csv_files

MANY = 4_000


def draft(columns):
    named = {"id": DraftId("d"), "account_id": UserId("u"), "company_id": CompanyId("c"), "kind": "vehicles"}
    return Draft(**named, name="f.csv", created_ms=0, expires_ms=1, header=columns, columns=columns)


def empty_rows():
    file = io.BytesIO(b"vehicleNo,mileage\n" + b"\n" * 20_000 + b"A,1\n")
    return lambda: list(csv_files.read(file, column_of=str).lines)


def empty_rows_before_the_header():
    file = io.BytesIO(b"\n" * 20_000 + b"vehicleNo\nA\n")
    return lambda: list(csv_files.read(file, column_of=str).lines)


def encoding_of_a_long_file():
    file = io.BytesIO("서울\n".encode("cp949") * 2_000_000)
    return lambda: csv_files.read(file, column_of=str)


def rows_to_insert():
    company = Company(
        **dict.fromkeys(Details.__struct_fields__, ""),
        id=CompanyId("c"),
        created_ms=0,
        service_type="ace",
        master=False,
        master_id=CompanyId("m"),
        registered_by_id=None,
        token_prefix="ABCDE",
    )
    actor = Actor(UserId("u"), Authority.COMPANY_ADMIN, company.id)
    registrations = [vehicles.registration(vehicle_no=f"{at:06}", mileage=1.0) for at in range(MANY)]
    registrations.sort(key=lambda each: each.vehicle_no[::-1])
    return lambda: list(
        import_kinds.VEHICLES.prepared(registrations, actor=actor, company=company, ids=TimeIds(node=1), now_ms=1)
    )


def rows_of_a_draft(mileage="1", troubles=()):
    state = RowState.BAD if troubles else RowState.GOOD
    return [Row(at, [f"{at:06}", mileage], state, troubles) for at in range(MANY)]


def checked_rows_of_a_draft():
    rows = rows_of_a_draft()
    return lambda: Check(draft(("vehicleNo", "mileage")), "ace").examined(rows)


def verdicts_of_a_draft():
    rows = rows_of_a_draft()
    examined = [
        Examined(vehicles.registration(vehicle_no=row.cells[0], mileage=1.0), names=[row.number]) for row in rows
    ]
    return lambda: Check(draft(("vehicleNo", "mileage")), "ace").judged(rows, examined, {"vehicleNo": set()})


def registrations_of_a_draft():
    rows, found = rows_of_a_draft(), draft(("vehicleNo", "mileage"))
    return lambda: draft_worker._registrations(found, import_kinds.VEHICLES, rows)


def downloaded_rows():
    words = draft_files.Words("row", "reason", lambda refusal: catalogue.sentence(refusal, Language.KOREAN))
    rows = rows_of_a_draft("x", [import_drafts.trouble_of(BadParameter("number", field="mileage"))])
    found = draft(("vehicleNo", "mileage"))
    draft_files._written(found, rows[:1], (0, 1), words)
    return lambda: draft_files._written(found, rows, (0, 1), words)


CELLS = [["text", "<b>", 1.5, None, "서울", 7] for _ in range(MANY)]


def pages_into(writer):
    def work():
        with closing(writer):
            for at in range(0, MANY, exports.AT_ONCE):
                writer.add(CELLS[at : at + exports.AT_ONCE])

    return work


def exported_csv():
    return pages_into(exports.Csv())


def exported_workbook():
    return pages_into(exports.Xlsx())


@pytest.mark.parametrize(
    "loop",
    [
        empty_rows,
        empty_rows_before_the_header,
        encoding_of_a_long_file,
        rows_to_insert,
        checked_rows_of_a_draft,
        verdicts_of_a_draft,
        registrations_of_a_draft,
        downloaded_rows,
        exported_csv,
        exported_workbook,
    ],
)
def test_long_loop_pauses_once_its_time_is_up(loop, monkeypatch):
    pauses = []
    clock = itertools.count(step=cooperative.STRETCH_S)
    monkeypatch.setattr(cooperative, "time", SimpleNamespace(perf_counter=lambda: next(clock), sleep=pauses.append))
    loop()()

    assert len(pauses) > 50


def test_items_come_as_they_are_and_a_pause_comes_after_a_stretch(monkeypatch):
    now, slept = [0.0], []
    monkeypatch.setattr(cooperative, "time", SimpleNamespace(perf_counter=lambda: now[0], sleep=slept.append))
    found = []
    for item in cooperative.each(range(6)):
        found.append((item, len(slept)))
        now[0] += 0.0008

    assert found == [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 1)]
    assert slept == [cooperative.PAUSE_S] * 2
