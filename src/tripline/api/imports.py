"""Bulk registration of vehicles and sensors from CSV files (spec/gaps H17), and sample files to start from."""

from functools import partial
from typing import Final

from litestar.response import Response
from litestar.types import ASGIApp

from tripline.domain import access, fields
from tripline.domain.access import Action
from tripline.http import answers, languages, parameters, permission, uploads
from tripline.http.context import Call, context_of, imports_of
from tripline.http.operations import Value, operation
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.services import shares
from tripline.services.imports import kinds as import_kinds
from tripline.services.imports import registration
from tripline.services.imports.kinds import ImportKind
from tripline.services.imports.limits import ManyImports
from tripline.wire import csv_files
from tripline.wire.rest import imports as rest_imports

CSV: Final = "text/csv"
HOW: Final = (
    Value("dryRun", bool, "true: check every row and register none; default false", False),
    Value(
        "encoding",
        csv_files.Encoding,
        "encoding of the file; default: UTF-8 if the whole file is, else CP949",
        "windows-1252",
    ),
    Value("skipBadRows", bool, "true: register the good rows; default false: all rows, or none when any is bad", True),
)
REFUSES: Final = (
    csv_files.BadFile,
    uploads.BadForm,
    uploads.FileTooLarge,
    uploads.TooSlow,
    registration.TooManyRows,
    registration.Contended,
    ManyImports,
)

_import_at: Final = partial(
    operation,
    "POST",
    request=bytes,
    request_types=(CSV, uploads.FORM),
    streamed=True,
    answer=rest_imports.ImportReport,
    query=HOW,
    refuses=REFUSES,
)


@_import_at("/api/tre/v1/vehicles/bulk", access=Action.VEHICLE_CREATE)
async def import_vehicles(request: Call) -> ASGIApp:
    """Register the vehicles in a CSV file, each row like one registration."""
    return await _imported(request, import_kinds.VEHICLES)


@_import_at("/api/tre/v1/sensors/bulk", access=Action.SENSOR_CREATE)
async def import_sensors(request: Call) -> ASGIApp:
    """Register the sensors in a CSV file, each row like one registration."""
    return await _imported(request, import_kinds.SENSORS)


@operation("GET", "/api/tre/v1/vehicles/bulk/sample", access=Action.VEHICLE_CREATE, answer=bytes, answer_type=CSV)
async def vehicles_sample(request: Call) -> Response[bytes]:
    """A CSV file of vehicles to start from, with every column."""
    return await _sample(request, import_kinds.VEHICLES)


@operation("GET", "/api/tre/v1/sensors/bulk/sample", access=Action.SENSOR_CREATE, answer=bytes, answer_type=CSV)
async def sensors_sample(request: Call) -> Response[bytes]:
    """A CSV file of sensors to start from, with every column."""
    return await _sample(request, import_kinds.SENSORS)


async def _imported(request: Call, kind: ImportKind) -> ASGIApp:
    context = context_of(request)
    actor = await permission.permitted(request)
    access.company_of(actor)
    query = request.query_params
    encoding = fields.one_of("encoding", parameters.query_text(query, "encoding"), list(csv_files.Encoding))
    order = registration.Order(
        dry_run=bool(parameters.query_flag(query, "dryRun")),
        skip_bad_rows=bool(parameters.query_flag(query, "skipBadRows")),
        encoding=None if encoding is None else csv_files.Encoding(encoding),
        most_rows=imports_of(request).most_rows,
    )
    limits, holder = imports_of(request), await context.store.read_short(lambda tx: shares.holder(tx, actor))
    async with limits.arrival(holder) as arrival:
        with await uploads.receive(request, most=limits.most_bytes, take=arrival.take) as file:
            async with arrival.turn():
                report = await registration.run(
                    context.store, file, actor=actor, kind=kind, order=order, ids=context.ids, now_ms=context.clock()
                )
    language = languages.asked_of(request)
    return answers.ok(_record(report, language), language=language)


async def _sample(request: Call, kind: ImportKind) -> Response[bytes]:
    await permission.permitted(request)
    named = {"content-disposition": f'attachment; filename="{kind.noun}.csv"'}
    return Response(kind.sheet.sample_file(), media_type=CSV, headers=named)


def _record(report: registration.Report, language: Language) -> rest_imports.ImportReport:
    errors = [
        rest_imports.BadRow(row=bad.number, field=bad.refusal.field, message=catalogue.sentence(bad.refusal, language))
        for bad in report.errors
    ]
    return rest_imports.ImportReport(
        rows=report.rows,
        created=report.created,
        errors=errors,
        error_count=report.bad,
        unknown_columns=report.unknown_columns,
        encoding=report.encoding,
        dry_run=report.dry_run,
    )
