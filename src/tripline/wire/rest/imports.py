"""JSON of bulk registration: the report about a file."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from tripline.wire.described import about


class BadRow(msgspec.Struct, rename="camel", kw_only=True):
    """A row that cannot be registered, and the reason."""

    row: Annotated[int, about("number of the row as a spreadsheet shows it; the header is 1", 17)]
    field: Annotated[str | None, about("the column that is wrong; null: the row as a whole", "mileage")]
    message: Annotated[str, about("what to mend, for people", "Parameter 'mileage' can't be empty!")]


class ImportReport(msgspec.Struct, rename="camel", kw_only=True):
    """The result of a file of registrations."""

    rows: Annotated[int, about("rows of the file, without header and empty rows", 3)]
    created: Annotated[int, about("records created; 0 in a dry run, and when any row is bad unless skipped", 2)]
    errors: Annotated[list[BadRow], about("the bad rows, by row number; the first 1,000 of them", [])]
    error_count: Annotated[int, about("bad rows in all", 1)]
    unknown_columns: Annotated[Sequence[str], about("columns of the file that were ignored", ["colour"])]
    encoding: Annotated[
        str, about("encoding in which the file was read: utf-8, cp949, windows-1250, windows-1252", "utf-8")
    ]
    dry_run: Annotated[bool, about("whether rows were only checked", False)]
