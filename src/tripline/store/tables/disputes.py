"""Tables of disputes of scores."""

from sqlalchemy import BigInteger, Column, Float, Index, SmallInteger, String, Table

from tripline.store.tables.base import RowNumber, Uuid, metadata, partial_index

dispute = Table(
    "dispute",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False, comment="also says when it was opened"),
    Column("id", Uuid, nullable=False, unique=True),
    Column("company_id", Uuid, nullable=False, comment="the vehicle's owner when it was opened"),
    Column("trip_no", RowNumber, nullable=False),
    Column("opened_by", Uuid, comment="null: deleted"),
    Column("reason", String(16), nullable=False, comment="domain/disputes.py"),
    Column("text", String(4096), nullable=False),
    Column("event_id", Uuid, comment="of the GPS event when it was opened; null: the whole trip"),
    Column("event_type", SmallInteger),
    Column("event_ms", BigInteger),
    Column("kind", String(16), comment="what of a score counts it; null: the whole trip"),
    Column("begin_ms", BigInteger, comment="events of this kind from here on"),
    Column("end_ms", BigInteger, comment="to here do not count once it is accepted"),
    Column("state", String(16), nullable=False, comment="domain/disputes.py"),
    Column("decided_ms", BigInteger),
    Column("decided_by", Uuid, comment="null: nobody yet, or deleted"),
    Column("answer", String(4096)),
    Column("score_before", Float, comment="of the trip when it was accepted"),
    Column("score_after", Float, comment="of the trip without it; null: it has none"),
    Column("rescored_ms", BigInteger, comment="when it was scored without it"),
    Column("mail_language", String(8), comment="of the mail that tells of the decision; null: none is wanted"),
    comment="what people contest of scores",
)
Index("ix_dispute_trip", dispute.c.trip_no, dispute.c.no)
Index("ix_dispute_company", dispute.c.company_id, dispute.c.no)
partial_index("ix_dispute_open", dispute.c.company_id, dispute.c.no, where="state = 'OPEN'")
partial_index("ix_dispute_accepted", dispute.c.trip_no, where="state = 'ACCEPTED'")
Index("ix_dispute_opened_by", dispute.c.opened_by)
Index("ix_dispute_decided_by", dispute.c.decided_by)
