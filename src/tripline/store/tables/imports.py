"""Tables of imports under way: drafts, and their rows."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, SmallInteger, String, Table, Text

from tripline.store.tables.base import Uuid, metadata, partial_index

import_draft = Table(
    "import_draft",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("account_id", Uuid, nullable=False, comment="its owner, who alone sees it"),
    Column("company_id", Uuid, nullable=False),
    Column("kind", String(16), nullable=False, comment="vehicles or sensors"),
    Column("name", String(255), nullable=False, comment="of the file"),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False, comment="from then on it is gone for everybody"),
    Column("state", String(16), nullable=False),
    Column("version", Integer, nullable=False, comment="of its columns, cells and verdicts"),
    Column("header", Text, nullable=False, comment="JSON: the file's columns"),
    Column("columns", Text, nullable=False, comment="JSON: the field that each of them is matched with, or null"),
    Column("rows", Integer, nullable=False),
    Column("good", Integer, nullable=False),
    Column("bad", Integer, nullable=False),
    Column("duplicate", Integer, nullable=False),
    Column("skipped", Integer, nullable=False),
    Column("done", Integer, nullable=False, comment="rows that the work under way is through with"),
    Column("created", Integer, nullable=False, comment="rows that were registered"),
    Column("note", String(16), comment="why the latest work registered nothing"),
    Column("holder", String(64), nullable=False, comment="process that works on it"),
    comment="files that wait to be registered",
)
Index("ix_import_draft_account", import_draft.c.account_id, import_draft.c.created_ms)
Index("ix_import_draft_company", import_draft.c.company_id)
Index("ix_import_draft_expires", import_draft.c.expires_ms)
Index("ix_import_draft_state", import_draft.c.state)


import_row = Table(
    "import_row",
    metadata,
    Column("draft_id", Uuid, ForeignKey("import_draft.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False, comment="as a spreadsheet shows it"),
    Column("cells", Text, nullable=False, comment="JSON: the texts of the row in the file, as mended since"),
    Column("state", SmallInteger, nullable=False, comment="the verdict"),
    Column("troubles", Text, comment="JSON: the refusals of a bad or duplicate row"),
    Column("name", BigInteger, comment="hash of its number, by which equal ones are found"),
    Column("second_name", BigInteger, comment="the same of a sensor's access token"),
    comment="rows of drafts",
)
partial_index(
    "ix_import_row_name", import_row.c.draft_id, import_row.c.name, import_row.c.number, where="name IS NOT NULL"
)
partial_index(
    "ix_import_row_second_name",
    import_row.c.draft_id,
    import_row.c.second_name,
    import_row.c.number,
    where="second_name IS NOT NULL",
)
