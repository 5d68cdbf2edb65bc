"""What waits to be sent: mails, and messages to customers' servers."""

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, SmallInteger, String, Table

from tripline.store.tables.base import RowNumber, Uuid, metadata

mail_outbox = Table(
    "mail_outbox",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("kind", String(32), nullable=False, comment="which letter; its secret is made when it is sent"),
    Column("recipient", String(255), nullable=False),
    Column("account_id", Uuid),
    Column("application_id", Uuid),
    Column("due_ms", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("last_error", String(255)),
    comment="mails to send",
)
Index("ix_mail_outbox_due", mail_outbox.c.due_ms)


push_outbox = Table(
    "push_outbox",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False),
    Column("id", Uuid, nullable=False, comment="`webhook-id`: the same at every attempt"),
    Column("company_id", Uuid, nullable=False, comment="the receiver"),
    Column("sensor_id", Uuid, nullable=False),
    Column("selector", SmallInteger, nullable=False, comment="number of notifyMsgType that selected it (push.md 2)"),
    Column("body", LargeBinary, nullable=False, comment="JSON to send"),
    Column("due_ms", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("last_error", String(255)),
    comment="messages to customers' servers",
)
Index("ix_push_outbox_due", push_outbox.c.due_ms, push_outbox.c.no)
Index("ix_push_outbox_company", push_outbox.c.company_id, push_outbox.c.no)
