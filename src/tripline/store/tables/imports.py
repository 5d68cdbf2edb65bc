"""Tables of imports under way: drafts, and their rows in blocks."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, String, Table, Text

from tripline.store.tables.base import Uuid, metadata

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
    Column("blocks", Integer, nullable=False),
    Column("good", Integer, nullable=False),
    Column("bad", Integer, nullable=False),
    Column("duplicate", Integer, nullable=False),
    Column("skipped", Integer, nullable=False),
    Column("done", Integer, nullable=False, comment="rows that the work under way is through with"),
    Column("created", Integer, nullable=False, comment="rows that were registered"),
    Column("note", String(16), comment="why the latest work registered nothing"),
    Column("holder", String(64), nullable=False, comment="process that works on it"),
    Column("held_until_ms", BigInteger, nullable=False, comment="when others may take that over"),
    comment="files that wait to be registered",
)
Index("ix_import_draft_account", import_draft.c.account_id, import_draft.c.created_ms)
Index("ix_import_draft_company", import_draft.c.company_id)
Index("ix_import_draft_expires", import_draft.c.expires_ms)
Index("ix_import_draft_state", import_draft.c.state, import_draft.c.held_until_ms)


import_block = Table(
    "import_block",
    metadata,
    Column("draft_id", Uuid, ForeignKey("import_draft.id"), primary_key=True),
    Column("no", Integer, primary_key=True, autoincrement=False),
    Column("first_row", Integer, nullable=False, comment="number of its first row, as a spreadsheet shows it"),
    Column("good", Integer, nullable=False),
    Column("bad", Integer, nullable=False),
    Column("duplicate", Integer, nullable=False),
    Column("skipped", Integer, nullable=False),
    Column("cells", LargeBinary, nullable=False, comment="compressed: what stands in the file"),
    Column("verdicts", LargeBinary, comment="compressed: what is wrong with which row"),
    Column("names", LargeBinary, comment="8 bytes for each name of each row, by which equal ones are found"),
    comment="rows of drafts, a few hundred in one",
)
