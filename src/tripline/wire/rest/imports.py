"""JSON of bulk registration: the report about a file.

Not here: the file's own form (`wire/csv_files.py`, `wire/csv_registrations.py`).
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta


class BadRow(msgspec.Struct, rename="camel", kw_only=True):
    """A row that cannot be registered, and the reason."""

    row: Annotated[int, Meta(description="number of the row as a spreadsheet shows it; the header is 1", examples=[17])]
    field: Annotated[
        str | None, Meta(description="the column that is wrong; null: the row as a whole", examples=["mileage"])
    ]
    message: Annotated[
        str, Meta(description="what to mend, for people", examples=["Parameter 'mileage' can't be empty!"])
    ]


class ImportReport(msgspec.Struct, rename="camel", kw_only=True):
    """The result of a file of registrations."""

    rows: Annotated[int, Meta(description="rows of the file, without header and empty rows", examples=[3])]
    created: Annotated[
        int, Meta(description="records created; 0 in a dry run, and when any row is bad unless skipped", examples=[2])
    ]
    errors: Annotated[
        list[BadRow], Meta(description="the bad rows, by row number; the first 1,000 of them", examples=[[]])
    ]
    error_count: Annotated[int, Meta(description="bad rows in all", examples=[1])]
    unknown_columns: Annotated[
        Sequence[str], Meta(description="columns of the file that were ignored", examples=[["colour"]])
    ]
    encoding: Annotated[
        str,
        Meta(
            description="encoding in which the file was read: utf-8, cp949, windows-1250, windows-1252",
            examples=["utf-8"],
        ),
    ]
    dry_run: Annotated[bool, Meta(description="whether rows were only checked", examples=[False])]
