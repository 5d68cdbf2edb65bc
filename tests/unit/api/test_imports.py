"""Bulk registration over REST: what becomes of good, bad and hostile files."""

import asyncio
import contextlib

import pytest
from sqlalchemy import func, select
from tests.support import rest, waits
from tests.support.rest import changed

from tripline import config
from tripline.domain.access import Authority
from tripline.domain.shares import Holder, Shares
from tripline.http import uploads
from tripline.services.imports import limits, registration
from tripline.services.imports.limits import ARRIVING, ImportLimits, ManyImports
from tripline.store.tables import sensor, vehicle, vehicle_company
from tripline.wire import csv_registrations

VEHICLES = b"vehicleNo,mileage\nA,1\nB,2\nC,3\n"


def report(**values):
    empty = {"rows": 0, "created": 0, "errors": [], "errorCount": 0, "unknownColumns": [], "dryRun": False}
    return {**empty, "encoding": "utf-8", **values}


def bad(row, field, message):
    return {"row": row, "field": field, "message": message}


async def send(app, login, content, noun="vehicles", **query):
    return await app.call(login, "POST", f"/{noun}/bulk", content, **query)


async def sent(app, login, content, noun="vehicles", **query):
    answer = await send(app, login, content, noun, **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def numbers(app):
    rows = await app.store.read(lambda tx: tx.all(select(vehicle.c.vehicle_no).order_by(vehicle.c.vehicle_no)))
    return [row[0] for row in rows]


async def count(app, table):
    return (await app.store.read(lambda tx: tx.one(select(func.count()).select_from(table))))[0]


async def test_h17_every_row_of_a_good_file_is_like_one_registration(app: rest.Rest, admin):
    single = await app.post(admin, "/vehicle", {"vehicleNo": "S", "mileage": 45210.5, "fuelType": "DIESEL"})

    answer = await sent(app, admin, b"vehicleNo,mileage,fuelType\nA,45210.5,DIESEL\n")

    listed = (await app.get(admin, f"/company/{admin.company_id}/vehicles", limit=10))["data"]

    assert answer == report(rows=1, created=1)
    assert [record["vehicleNo"] for record in listed] == ["A", "S"]
    assert {**listed[0], "id": None, "vehicleNo": None} == {**single, "id": None, "vehicleNo": None}


async def test_rule_2_vehicles_in_a_director_s_file_are_managed_by_that_director(app: rest.Rest, admin):
    director = await app.person(admin, Authority.DIRECTOR, "d")
    answer = await sent(app, director, VEHICLES)
    rows = await app.store.read(lambda tx: tx.all(select(vehicle.c.director_id)))

    assert answer == report(rows=3, created=3)
    assert {row[0] for row in rows} == {director.user_id}


async def test_rule_3_vehicles_in_a_partner_s_file_are_delegated_to_the_operator_for_good(app: rest.Rest):
    operator, admin = await app.operator("ace")
    _, partner = await app.partner(admin, "p@p.example")
    await sent(app, partner, VEHICLES)
    columns = vehicle_company.c
    rows = await app.store.read(
        lambda tx: tx.all(select(columns.from_company_id, columns.to_company_id, columns.automatic))
    )

    assert [tuple(row) for row in rows] == [(partner.company_id, operator["id"]["id"], True)] * 3


async def test_one_bad_row_keeps_every_row_out_unless_bad_rows_are_skipped(app: rest.Rest):
    content = b'vehicleNo,mileage,fuelType,colour\nA,1,,red\nB,0\nA,1,,,\nC,2,WOOD\nD,3,,,x\nE,"1,000"\n'
    errors = [
        bad(3, "mileage", "Parameter 'mileage' can't be empty!"),
        bad(4, "vehicleNo", "Parameter 'vehicleNo' is the same as in row 2."),
        bad(5, "fuelType", "Parameter 'fuelType' must be one of DIESEL, GASOLINE, LPG."),
        bad(6, None, "The row has more cells than the header has columns."),
        bad(7, "mileage", "Parameter 'mileage' must be a number, with digits and a decimal point only."),
    ]

    _, admin = await app.operator("ace")
    refused, none, skipped, kept = (
        await sent(app, admin, content),
        await numbers(app),
        await sent(app, admin, content, skipBadRows="true"),
        await numbers(app),
    )

    common = {"rows": 6, "errors": errors, "errorCount": 5, "unknownColumns": ["colour"]}
    assert (refused, none) == (report(**common), [])
    assert (skipped, kept) == (report(**common, created=1), ["A"])


async def test_dry_run_checks_rows_against_the_store_and_keeps_none(app: rest.Rest, admin):
    await app.post(admin, "/vehicle", {"vehicleNo": "B", "mileage": 1})
    answer, kept = await sent(app, admin, VEHICLES, dryRun="TRUE", skipBadRows="true"), await numbers(app)

    taken = bad(3, "vehicleNo", "Parameter 'vehicleNo': a vehicle with the number B is already registered.")
    assert answer == report(rows=3, errors=[taken], errorCount=1, dryRun=True)
    assert kept == ["B"]


async def test_h5_names_of_sensors_taken_in_other_companies_are_told_by_row(app: rest.Rest, admin):
    _, other = await app.operator("other")
    for login, serial, token in ((admin, "S1", "t" * 20), (other, "S2", "u" * 20)):
        await app.post(login, "/sensor", {"serialNo": serial, "type": "GPS", "credentialsId": token})
    rows = [("S1", "a" * 20), ("S2", "b" * 20), ("S3", "u" * 20), ("S4", "c" * 20), ("S5", "c" * 20)]
    lines = ["serialNo,credentialsId,type", *(f"{serial},{token},GPS" for serial, token in rows)]
    answer = await sent(app, admin, "\n".join(lines).encode(), "sensors", skipBadRows="true")

    assert answer == report(
        rows=5,
        created=2,
        errorCount=3,
        errors=[
            bad(2, "serialNo", "Parameter 'serialNo': a sensor with the serial number S1 is already registered."),
            bad(
                4, "credentialsId", "Parameter 'credentialsId': a sensor with this access token is already registered."
            ),
            bad(6, "credentialsId", "Parameter 'credentialsId' is the same as in row 5."),
        ],
    )


async def test_sample_files_are_taken_as_body_and_as_form(app: rest.Rest, admin):
    headers = {"X-Authorization": f"Bearer {admin.token}"}
    answers = []
    for noun in ("vehicles", "sensors"):
        sample = await app.call(admin, "GET", f"/{noun}/bulk/sample")
        assert sample.headers["content-type"] == "text/csv; charset=utf-8"
        assert sample.headers["content-disposition"] == f'attachment; filename="{noun}.csv"'
        form = {"data": {"note": "n"}, "files": {"file": ("f.csv", sample.content, "text/csv")}}
        checked = await app.http.post(f"/api/tre/v1/{noun}/bulk?dryRun=true", headers=headers, **form)
        answers += [checked.json(), await sent(app, admin, sample.content, noun)]

    assert answers == [report(rows=2, dryRun=True), report(rows=2, created=2)] * 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "The file is empty; its first row must name the columns."),
        (b"vendor\nx\n", "The header (row 1) lacks these columns: vehicleNo, mileage."),
        (b"PK\x03\x04", "This is a workbook or a ZIP archive; save it as CSV (UTF-8) and send that."),
        (b'vehicleNo,mileage\n"A,1\n', "Row 2 is not CSV: a quote is opened and never closed."),
    ],
)
async def test_file_that_is_no_csv_of_vehicles_is_refused(app: rest.Rest, admin, content, message):
    assert await app.refused(admin, "POST", "/vehicles/bulk", content, skipBadRows="true") == (400, 31, message)
    assert await numbers(app) == []


async def test_broken_row_after_good_ones_keeps_every_row_out(app: rest.Rest, admin):
    content = VEHICLES + b'"D'
    found = await app.refused(admin, "POST", "/vehicles/bulk", content, skipBadRows="true"), await numbers(app)

    assert found == ((400, 31, "Row 5 is not CSV: a quote is opened and never closed."), [])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "The form must hold one file; this one holds 0."),
        ([VEHICLES, VEHICLES], "The form must hold one file; this one holds 2."),
    ],
)
async def test_form_without_exactly_one_file_is_refused(app: rest.Rest, files, message):
    parts = [("note", (None, b"n")), *(("file", ("f.csv", content, "text/csv")) for content in files)]

    _, admin = await app.operator("ace")
    headers = {"X-Authorization": f"Bearer {admin.token}"}
    answer = await app.http.post("/api/tre/v1/vehicles/bulk", headers=headers, files=parts)

    assert (answer.status_code, answer.json()["errorCode"], answer.json()["message"]) == (400, 31, message)


@pytest.mark.parametrize("boundary", ["", "; boundary=", "; boundary=x"])
async def test_form_that_cannot_be_read_is_refused(app: rest.Rest, admin, boundary):
    headers = {"X-Authorization": f"Bearer {admin.token}", "Content-Type": f"multipart/form-data{boundary}"}
    answer = await app.http.post("/api/tre/v1/vehicles/bulk", headers=headers, content=VEHICLES)

    assert (answer.status_code, answer.json()["errorCode"]) == (400, 31)


async def with_limits(app, **limits):
    """The application with other limits of imports."""
    shared = ImportLimits(config.Rest(**limits))
    app.contexts = changed(app.contexts, imports=shared)
    rest.application(app.contexts)
    return shared


async def test_file_up_to_the_bound_is_taken_and_one_byte_more_is_refused(app: rest.Rest):
    filling = b"vehicleNo,mileage,note\nA,1,\n"
    at = filling + (b" " * 59_999 + b"\n") * 17 + b" \n" * 10_000
    at += b"\n" * (2**20 - len(at))

    _, admin = await app.operator("ace")
    await with_limits(app, import_mib=1)
    headers = {"X-Authorization": f"Bearer {admin.token}"}

    async def pieces():  # without an announced length
        for start in range(0, len(at) + 1, 65_536):
            yield (at + b"\n")[start : start + 65_536]

    unannounced = await app.http.post("/api/tre/v1/vehicles/bulk", headers=headers, content=pieces())
    form = {"files": {"file": ("f.csv", at + b"\n", "text/csv")}}
    in_form = await app.http.post("/api/tre/v1/vehicles/bulk", headers=headers, **form)
    others, refused, below, taken = (
        [(answer.status_code, answer.json()["errorCode"]) for answer in (unannounced, in_form)],
        await app.refused(admin, "POST", "/vehicles/bulk", at + b"\n"),
        await sent(app, admin, at[:-1], dryRun="true"),
        await sent(app, admin, at),
    )

    assert others == [(413, 31), (413, 31)]
    assert refused == (413, 31, "The file must have at most 1 MiB.")
    assert below == report(rows=1, unknownColumns=["note"], dryRun=True)
    assert (taken["rows"], taken["created"]) == (1, 1)


async def test_bodies_of_other_operations_keep_their_bound(app: rest.Rest, admin):
    assert await app.refused(admin, "POST", "/vehicle", b" " * (2**20 + 1)) == (
        413,
        31,
        "The body must have at most 1024 KiB.",
    )


async def test_rows_up_to_the_bound_are_taken_and_one_more_is_refused(app: rest.Rest, admin):
    await with_limits(app, import_rows=3)
    refused = await app.refused(admin, "POST", "/vehicles/bulk", VEHICLES + b"D,4\n", skipBadRows="true")
    taken = await sent(app, admin, VEHICLES)

    assert refused == (413, 31, "The file has more than 3 rows; send it in parts.")
    assert taken == report(rows=3, created=3)


async def test_a_thousand_bad_rows_are_told_and_all_are_counted(app: rest.Rest, admin):
    answer = await sent(app, admin, b"vehicleNo,mileage\n" + b"x,0\n" * 1001)

    assert (len(answer["errors"]), answer["errorCount"], answer["errors"][-1]["row"]) == (1000, 1001, 1001)


async def test_short_import_waits_for_no_long_one(app: rest.Rest, admin):
    async with app.contexts.imports.long.turn("another"), asyncio.timeout(20):
        found = await sent(app, admin, VEHICLES)

    assert found == report(rows=3, created=3)


async def test_long_imports_of_one_operator_keep_another_waiting_for_one_of_them_at_most(app: rest.Rest, monkeypatch):
    monkeypatch.setattr(limits, "SHORT_BYTES", 10)
    order = []

    _, admin = await app.operator("ace")
    _, other = await app.operator("bee")
    shared = app.contexts.imports

    async def ask(login, name):
        await sent(app, login, VEHICLES, dryRun="true")
        order.append(name)

    async with asyncio.TaskGroup() as tasks, shared.long.turn(str(admin.company_id)):
        for _ in range(3):
            tasks.create_task(ask(admin, "ace"))
        await waits.until(lambda: shared.files.taken >= 3)
        tasks.create_task(ask(other, "bee"))
        await waits.until(lambda: shared.files.taken >= 4)
        await asyncio.sleep(0.1)

    assert order == ["bee", "ace", "ace", "ace"]


SLOW = uploads.Pace(idle_s=0.05, start_s=1_000.0, bytes_s=1_000)
NOT_FAST_ENOUGH = uploads.Pace(idle_s=10.0, start_s=0.2, bytes_s=1_000_000)


@pytest.mark.parametrize("pace", [SLOW, NOT_FAST_ENOUGH], ids=["no progress", "too little"])
async def test_file_that_does_not_arrive_in_time_is_refused_and_gives_its_place_up(app: rest.Rest, monkeypatch, pace):
    monkeypatch.setattr(uploads.receive, "__kwdefaults__", {"pace": pace})

    _, admin = await app.operator("ace")

    async def pieces():
        yield VEHICLES
        while True:
            await asyncio.sleep(0.1)
            yield b"\n"

    headers = {"X-Authorization": f"Bearer {admin.token}"}
    answer = await app.http.post("/api/tre/v1/vehicles/bulk", headers=headers, content=pieces())
    found = answer.status_code, answer.json()["errorCode"], await sent(app, admin, VEHICLES)

    assert found == (408, 2, report(rows=3, created=3))


async def test_file_that_goes_on_arriving_may_take_longer_than_the_start(app: rest.Rest, monkeypatch):
    monkeypatch.setattr(uploads.receive, "__kwdefaults__", {"pace": uploads.Pace(idle_s=5, start_s=0.1, bytes_s=100)})

    _, admin = await app.operator("ace")

    async def pieces():
        yield VEHICLES
        for _ in range(3):
            await asyncio.sleep(0.1)
            yield b"\n" * 100

    headers = {"X-Authorization": f"Bearer {admin.token}"}
    answer = await app.http.post("/api/tre/v1/vehicles/bulk", headers=headers, content=pieces())

    assert answer.status_code == 200


async def slow_uploads(app, token, number):
    """So many uploads that have begun, and what ends them."""
    end = asyncio.Event()
    begun = []

    async def pieces():
        yield VEHICLES
        begun.append(True)
        await end.wait()

    headers = {"X-Authorization": f"Bearer {token}"}
    asked = [
        asyncio.ensure_future(app.http.post("/api/tre/v1/vehicles/bulk", headers=headers, content=pieces()))
        for _ in range(number)
    ]
    while len(begun) + sum(each.done() for each in asked) < number:  # noqa: ASYNC110
        await asyncio.sleep(0)
    return asked, end


@pytest.mark.parametrize(
    ("number", "own", "other"), [(5, 200, 200), (7, 200, 200), (8, 429, 200)], ids=["five", "below", "at the bound"]
)
async def test_slow_uploads_lock_nobody_out(app: rest.Rest, admin, number, own, other):
    _, others = await app.operator("bee")
    asked, end = await slow_uploads(app, admin.token, number)
    same = await send(app, admin, b"vehicleNo,mileage\nX,1\n")
    else_ = await send(app, others, b"vehicleNo,mileage\nY,1\n")
    end.set()
    await asyncio.gather(*asked)
    found = same.status_code, else_.status_code, (await send(app, admin, b"vehicleNo,mileage\nZ,1\n")).status_code

    assert found == (own, other, 200)


@pytest.mark.parametrize(
    ("bound", "names"),
    [
        (ARRIVING.account, "o/c/a"),
        (ARRIVING.company, "o/c/{}"),
        (ARRIVING.operator, "o/{0}/{0}"),
        (ARRIVING.total, "{0}/{0}/{0}"),
    ],
    ids=["account", "company", "operator", "all"],
)
async def test_files_that_arrive_are_bounded_in_number(bound, names):
    """Where a share is full, newcomers of the same holder are refused; anybody else has room, whatever is full."""
    shared = ImportLimits(config.Rest())

    async with contextlib.AsyncExitStack() as arriving:
        for number in range(bound):
            await arriving.enter_async_context(shared.arrival(Holder(*names.format(number).split("/"))))
        with pytest.raises(ManyImports):
            async with shared.arrival(Holder(*names.format(0).split("/"))):
                pass
        found = shared.files.taken

    assert found == bound
    assert shared.files.taken == shared.bytes.taken == 0


async def test_operator_and_its_partner_have_one_share_and_make_room_for_another_operator(app: rest.Rest, admin):
    _, partner = await app.partner(admin, "partner@x.example")
    people = [await app.person(login, Authority.DIRECTOR, f"d{at}") for at, login in enumerate([admin, partner])]
    _, second = await app.operator("bee")
    _, third = await app.operator("cat")
    asked = []
    for login in (admin, partner, *people, second):
        asked.append(await slow_uploads(app, login.token, ARRIVING.account))
    held = app.contexts.imports.files.taken
    taken = await send(app, third, b"vehicleNo,mileage\nY,1\n")
    for _, end in asked:
        end.set()
    answers = [[answer.status_code for answer in await asyncio.gather(*some)] for some, _ in asked]
    refused = sum(each.count(429) for each in answers)

    assert held == ARRIVING.total
    assert taken.status_code == 200
    assert refused == ARRIVING.total - ARRIVING.operator + 1
    assert answers[-1] == [200] * 8


@pytest.mark.parametrize(("size", "status"), [(2_999, 200), (3_000, 200), (3_001, 429)])
async def test_files_that_arrive_are_bounded_together_on_disk(app: rest.Rest, admin, size, status):
    shared = await with_limits(app)
    shared.bytes.shares = Shares.of(12_000)
    content = b"vehicleNo,mileage\nX,1\n"
    answer = await send(app, admin, content + b"\n" * (size - len(content)))

    assert (answer.status_code, shared.bytes.taken) == (status, 0)


@pytest.mark.parametrize("query", [{"dryRun": "x"}, {"skipBadRows": "1"}])
async def test_flags_that_are_neither_true_nor_false_are_refused_before_the_file(app: rest.Rest, query):
    (name,) = query
    _, admin = await app.operator("ace")

    assert await app.refused(admin, "POST", "/vehicles/bulk", b"", **query) == (
        400,
        31,
        f"Parameter '{name}' must be true or false.",
    )


async def test_drivers_and_directors_may_not_import_what_they_may_not_register(app: rest.Rest, admin):
    driver = await app.person(admin, Authority.DRIVER, "driver")
    director = await app.person(admin, Authority.DIRECTOR, "director")
    granted = await app.account("granted@x.example", Authority.COMPANY_ADMIN)
    calls = [
        (login, method, f"/{noun}/bulk{path}")
        for noun, login in (("vehicles", driver), ("sensors", driver), ("sensors", director))
        for method, path in (("POST", ""), ("GET", "/sample"))
    ]
    calls.append((granted, "POST", "/vehicles/bulk"))

    assert [(await app.refused(*call))[:2] for call in calls] == [(403, 20)] * 7


@pytest.mark.parametrize("skip", ["true", "false"])
async def test_single_registrations_racing_with_a_file_leave_one_of_each_number(app: rest.Rest, skip):
    wanted = [f"N{number:03d}" for number in range(300)]
    content = "\n".join(["vehicleNo,mileage", *(f"{number},1" for number in wanted)]).encode()

    _, admin = await app.operator("ace")
    body = [{"vehicleNo": number, "mileage": 1} for number in wanted[::30]]
    single = [app.call(admin, "POST", "/vehicle", each) for each in body]
    imported, *singles = await asyncio.gather(sent(app, admin, content, skipBadRows=skip), *single)
    statuses, kept, rows = [answer.status_code for answer in singles], await numbers(app), await count(app, vehicle)

    won = statuses.count(200)
    assert statuses.count(400) == len(statuses) - won
    assert kept == sorted(set(kept))
    if skip == "true":
        assert (kept, rows) == (wanted, 300)
        assert (imported["created"], imported["errorCount"]) == (300 - won, won)
    else:
        assert imported["created"] == (0 if won else 300)
        assert rows == (won or 300)


async def test_number_registered_between_check_and_insert_is_told_like_any_other(app: rest.Rest, admin, monkeypatch):
    waiting = [{"vehicleNo": "B", "mileage": 1}]
    write = app.contexts.context.store.write

    async def late(work):
        if waiting:
            body = waiting.pop()
            assert (await app.call(admin, "POST", "/vehicle", body)).status_code == 200
        return await write(work)

    monkeypatch.setattr(app.contexts.context.store, "write", late)
    answer, kept = await sent(app, admin, VEHICLES), await numbers(app)

    taken = bad(3, "vehicleNo", "Parameter 'vehicleNo': a vehicle with the number B is already registered.")
    assert answer == report(rows=3, errors=[taken], errorCount=1)
    assert kept == ["B"]


@pytest.mark.parametrize("names", ["ABCDEFGH", "ABC"])
async def test_numbers_registered_one_by_one_before_each_write_of_an_import_are_bad_rows_of_it(
    app: rest.Rest, admin, monkeypatch, names
):
    waiting = [*reversed(names)]
    write = app.contexts.context.store.write

    async def late(work):
        if waiting and getattr(work, "func", work).__module__ == registration.__name__:
            answer = await app.call(admin, "POST", "/vehicle", {"vehicleNo": waiting.pop(0), "mileage": 1})
            assert answer.status_code in (200, 400)
        return await write(work)

    monkeypatch.setattr(app.contexts.context.store, "write", late)
    content = b"vehicleNo,mileage\n" + b"".join(b"%c,1\n" % number for number in names.encode())
    answer, kept = await sent(app, admin, content, skipBadRows="true"), await numbers(app)

    assert kept == [*names]
    assert answer["created"] + answer["errorCount"] == len(names)
    assert answer["errorCount"] >= registration.ATTEMPTS


async def test_formula_cells_are_kept_as_text_and_told_harmlessly(app: rest.Rest, admin):
    content = b"vehicleNo,mileage,=cmd|' /C calc'!A0\n=cmd|' /C calc'!A0,1\n"
    answer = await sent(app, admin, content)
    kept = await numbers(app)

    assert answer == report(rows=1, created=1, unknownColumns=["'=cmd|' /C calc'!A0"])
    assert kept == ["=cmd|' /C calc'!A0"]


async def test_sensors_of_a_file_are_on_no_vehicle(app: rest.Rest, admin):
    await sent(app, admin, csv_registrations.SENSORS.sample_file(), "sensors")
    columns = (sensor.c.vehicle_id, sensor.c.status, sensor.c.activation_required)
    found = [tuple(row) for row in await app.store.read(lambda tx: tx.all(select(*columns)))]

    assert found == [(None, "DEACTIVATED", False)] * 2


ENCODINGS = "utf-8, cp949, windows-1250, windows-1252"
WESTERN = "vehicleNo,vendor,usage,mileage\r\nK1,Škoda,depot’s,120\r\n".encode("windows-1252")


async def test_western_text_that_is_cp949_by_chance_asks_for_its_encoding(app: rest.Rest, admin):
    refused = await send(app, admin, WESTERN)
    unknown = await send(app, admin, WESTERN, encoding="latin-1")
    wrong = await send(app, admin, WESTERN, encoding="utf-8")
    named = await sent(app, admin, WESTERN, encoding="windows-1252")
    listed = (await app.get(admin, f"/company/{admin.company_id}/vehicles", limit=10))["data"]
    refused, kept = (refused, unknown, wrong), [(each["vendor"], each["usage"]) for each in listed]

    assert [(each.status_code, each.json()["errorCode"]) for each in refused] == [(400, 31)] * 3
    assert [each.json()["message"] for each in refused] == [
        f"Parameter 'encoding' must name the encoding of the file ({ENCODINGS}): "
        "read as CP949, line 2 has the word 둲oda.",
        f"Parameter 'encoding' must be one of {ENCODINGS}.",
        "Parameter 'encoding' does not fit: line 2 of the file is not utf-8.",
    ]
    assert named == report(rows=1, created=1, encoding="windows-1252")
    assert kept == [("Škoda", "depot’s")]


@pytest.mark.parametrize("encoding", ["utf-8", "cp949"])
async def test_answer_names_the_encoding_in_which_a_file_was_read(app: rest.Rest, admin, encoding):
    found = await sent(app, admin, "vehicleNo,mileage\n12가3456,1\n".encode(encoding))

    assert found == report(rows=1, created=1, encoding=encoding)
