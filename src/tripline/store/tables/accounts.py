"""Tables of accounts: who logs in, account sessions, applications, one-time links."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, LargeBinary, String, Table, Text

from tripline.store.tables.base import Uuid, last, metadata, partial_index

secret = Table(
    "secret",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", LargeBinary, nullable=False),
    comment="keys made on first start: token signing key, node of the id maker",
)


account = Table(
    "account",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column(
        "company_id",
        Uuid,
        ForeignKey("company.id"),
        comment="null: platform administrator, or granted and not registered yet",
    ),
    Column("authority", String(16), nullable=False),
    Column("name", String(255), nullable=False),
    Column("email", String(255), nullable=False, comment="as given; answers echo it"),
    Column("login", String(255), nullable=False, unique=True, comment="e-mail in the form compared at login"),
    Column("phone", String(255)),
    Column("division", String(255)),
    Column("password_hash", String(255), nullable=False),
    Column("password_updated_ms", BigInteger, nullable=False),
    Column("additional_info", Text),
    Column("enabled", Boolean, nullable=False),
    Column("latest_trip_id", Uuid),
    Column("language", String(8), comment="of the portal; null: as the browser asks"),
    Column("theme", String(8), comment="of the portal, light or dark; null: as the system is"),
    Column("history_day", Integer, nullable=False, server_default="0", comment="latest day (UTC) that was counted"),
    Column(
        "history_written",
        Integer,
        nullable=False,
        server_default="0",
        comment="entries of history, and KiB beyond them, that it wrote on that day",
    ),
)
Index("ix_account_list", account.c.company_id, account.c.authority, account.c.name, account.c.id)
Index("ix_account_created", account.c.company_id, account.c.authority, account.c.created_ms, account.c.id)
Index("ix_account_login", account.c.company_id, account.c.login, account.c.id)
Index("ix_account_phone", account.c.company_id, account.c.phone)
Index("ix_account_phone_ending", account.c.company_id, last(account.c.phone))


account_session = Table(
    "account_session",
    metadata,
    Column("id", Uuid, primary_key=True, comment="one for each log-in"),
    Column("user_id", Uuid, ForeignKey("account.id"), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    Column(
        "current",
        String(36),
        nullable=False,
        comment="`jti` of the refresh token that is good; of a browser: SHA-256 of the cookie's secret",
    ),
    Column("previous", String(36), comment="the one before, still good for a moment"),
    Column("rotated_ms", BigInteger, nullable=False, comment="when it was prolonged last"),
    Column("kind", String(8), nullable=False, comment="rest or browser"),
    Column("agent", String(255), comment="what the client called itself"),
    Column("address", String(64), comment="from where it was opened"),
    comment="log-ins over REST and sign-ins with a browser, until they end",
)
Index("ix_account_session_user", account_session.c.user_id)
Index("ix_account_session_expires", account_session.c.expires_ms)
Index("ix_account_session_list", account_session.c.user_id, account_session.c.created_ms, account_session.c.id)


account_link = Table(
    "account_link",
    metadata,
    Column("token_hash", String(64), primary_key=True, comment="SHA-256 of the one-time token in the mail"),
    Column("user_id", Uuid, ForeignKey("account.id"), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    Column("purpose", String(16), nullable=False, comment="password or sign_in"),
    comment="one-time links to set a password, or to sign in",
)
Index("ix_account_link_user", account_link.c.user_id)
Index("ix_account_link_expires", account_link.c.expires_ms)


service_application = Table(
    "service_application",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("service_name", String(255), nullable=False),
    Column("company_name", String(255), nullable=False),
    Column("contact_name", String(255), nullable=False),
    Column("mobile", String(255), nullable=False),
    Column("email", String(255), nullable=False),
    Column("login", String(255), nullable=False, comment="e-mail in the form compared at login"),
    Column("introduction", Text, nullable=False),
    Column("department", String(255)),
    Column("provider_manager_name", String(255)),
    Column("provider_manager_email", String(255)),
    Column("notify_host", String(255)),
    Column("state", String(16), nullable=False, comment="domain/applications.py"),
    Column("decided_ms", BigInteger),
    Column("decided_by_id", Uuid),
    Column("reason", Text, comment="told to the applicant when rejected"),
    Column("language", String(8), nullable=False, comment="of the request that sent it in"),
    comment="applications for a service account",
)
Index("ix_service_application_name", service_application.c.service_name, service_application.c.id)
Index("ix_service_application_created", service_application.c.created_ms, service_application.c.id)
Index(
    "ix_service_application_state",
    service_application.c.state,
    service_application.c.created_ms,
    service_application.c.id,
)
partial_index("uq_service_application_open", service_application.c.login, unique=True, where="state = 'SUBMITTED'")
