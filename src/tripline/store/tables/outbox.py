"""Tables of outgoing messages: mails, and messages to customers' servers."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, SmallInteger, String, Table

from tripline.store.tables.base import RowNumber, Uuid, metadata, partial_index

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
    Column("language", String(8), nullable=False, comment="of the letter"),
    Column("dispute_id", Uuid),
    Column("trip_id", Uuid),
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
    Column("selector", SmallInteger, nullable=False, comment="number of notifyMsgType that selected it (spec/push 2)"),
    Column("body", LargeBinary, nullable=False, comment="what is sent, byte for byte"),
    Column("due_ms", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("last_error", String(255)),
    Column(
        "channel", String(16), nullable=False, server_default="notify", comment="notify or rpc_notify (spec/push 1)"
    ),
    Column("request_id", Uuid, comment="of an RPC result"),
    Column("method", String(255), comment="of an RPC result"),
    Column("parked_ms", BigInteger, comment="when it was given up; it is sent again on demand only"),
    Column(
        "unconfirmed_ms",
        BigInteger,
        comment="when it counted as delivered though nobody answered; parked_ms is set too",
    ),
    Column("since_ms", BigInteger, comment="of one that was unconfirmed: its time began anew here"),
    comment="messages to customers' servers",
)
partial_index(
    "ix_push_outbox_waiting",
    push_outbox.c.company_id,
    push_outbox.c.channel,
    push_outbox.c.no,
    where="parked_ms IS NULL",
)
partial_index(
    "ix_push_outbox_parked",
    push_outbox.c.company_id,
    push_outbox.c.no,
    where="parked_ms IS NOT NULL AND unconfirmed_ms IS NULL",
)
partial_index(
    "ix_push_outbox_unconfirmed",
    push_outbox.c.company_id,
    push_outbox.c.channel,
    push_outbox.c.no,
    where="unconfirmed_ms IS NOT NULL",
)


push_receiver = Table(
    "push_receiver",
    metadata,
    Column("company_id", Uuid, primary_key=True),
    Column("channel", String(16), primary_key=True),
    Column("mute_ms", BigInteger, comment="since when it takes messages and never answers"),
    Column("readdressed_ms", BigInteger, comment="when its address changed last"),
    Column("asked_ms", BigInteger, comment="when somebody last asked to send at once"),
    Column("held_ms", BigInteger, comment="until when it asked for no request (Retry-After)"),
    comment="what has to be known of customers' servers after a restart",
)


push_resend = Table(
    "push_resend",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False, comment="also says when it was asked for"),
    Column("company_id", Uuid, nullable=False),
    Column("sensor_id", Uuid, comment="messages about this sensor alone"),
    Column("unconfirmed", Boolean, nullable=False, comment="those that were never confirmed, not those given up"),
    Column("until_ms", BigInteger, nullable=False, comment="those given up by then"),
    comment="kept messages that are still to be sent again",
)
Index("ix_push_resend_company", push_resend.c.company_id)


push_secret = Table(
    "push_secret",
    metadata,
    Column("company_id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("secret", LargeBinary, nullable=False, comment="signs what is pushed to the company"),
    Column("former", LargeBinary, comment="the one before, which signs too for a while"),
    Column("former_until_ms", BigInteger),
    comment="secrets of customers' servers",
)
