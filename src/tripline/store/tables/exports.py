"""Tables of exports: files made of lists, for their owner, kept for a while."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, String, Table

from tripline.store.tables.base import Uuid, metadata

export = Table(
    "export",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("account_id", Uuid, nullable=False, comment="who asked, and who alone may have it"),
    Column("noun", String(16), nullable=False, comment="which list"),
    Column("form", String(8), nullable=False, comment="csv or xlsx"),
    Column("question", LargeBinary, nullable=False, comment="JSON of what was asked of the list"),
    Column("name", String(255), nullable=False, comment="of the file"),
    Column("state", String(16), nullable=False, comment="domain/exports.py"),
    Column("done", Integer, nullable=False, comment="rows that are in the file"),
    Column("total", Integer, comment="rows that it will have, as counted when it began"),
    Column("size", BigInteger, nullable=False, comment="bytes of the file"),
    Column("until_ms", BigInteger, nullable=False, comment="when it is forgotten"),
    Column("maker_id", Uuid, comment="whoever makes it, or made it last"),
    Column("heard_ms", BigInteger, comment="when that one was heard of"),
    comment="exports of lists",
)
Index("ix_export_account", export.c.account_id, export.c.created_ms)
Index("ix_export_state", export.c.state, export.c.created_ms)
Index("ix_export_until", export.c.until_ms)


export_piece = Table(
    "export_piece",
    metadata,
    Column("export_id", Uuid, ForeignKey("export.id"), primary_key=True),
    Column("no", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
    comment="files of exports, in pieces",
)
