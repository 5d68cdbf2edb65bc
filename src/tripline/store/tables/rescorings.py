"""Tables of rescorings."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, String, Table

from tripline.store.tables.base import RowNumber, Uuid, metadata, partial_index

rescoring = Table(
    "rescoring",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False, comment="also says when it was asked for"),
    Column("id", Uuid, nullable=False, unique=True),
    Column("company_id", Uuid, nullable=False),
    Column("requested_by", Uuid, comment="null: deleted"),
    Column("from_ms", BigInteger, comment="trips that began then or later"),
    Column("to_ms", BigInteger, comment="trips that began before then"),
    Column("everything", Boolean, nullable=False, comment="also scores by the policy in force"),
    Column("dry_run", Boolean, nullable=False),
    Column("policy", Integer, comment="scoring_policy.no that a dry run tries"),
    Column("state", String(16), nullable=False, comment="domain/rescorings.py"),
    Column("due_ms", BigInteger, nullable=False, comment="when a worker goes on with it"),
    Column("first_no", RowNumber, nullable=False, comment="trip.no before which there is none"),
    Column("after_no", RowNumber, nullable=False, comment="trip.no of the last one that was looked at"),
    Column("looked_at", BigInteger, nullable=False, comment="how many trips were"),
    Column("outcome", LargeBinary, nullable=False, comment="JSON of what was counted"),
    Column("bite", LargeBinary, comment="JSON of the trips that were asked for, and their scores before"),
    Column("ended_ms", BigInteger),
    comment="companies' trips that are scored anew on request",
)
Index("ix_rescoring_company", rescoring.c.company_id, rescoring.c.no)
Index("ix_rescoring_requested_by", rescoring.c.requested_by)
partial_index("uq_rescoring_running", rescoring.c.company_id, where="state = 'RUNNING'", unique=True)
