"""What accounts are made of: log-ins, refresh tokens, applications, one-time links."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, LargeBinary, String, Table, Text, text

from tripline.store.tables.base import Uuid, metadata

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
)
Index("ix_account_list", account.c.company_id, account.c.authority, account.c.name, account.c.id)


refresh_session = Table(
    "refresh_session",
    metadata,
    Column("id", Uuid, primary_key=True, comment="one for each log-in"),
    Column("user_id", Uuid, ForeignKey("account.id"), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    Column("current", String(36), nullable=False, comment="`jti` of the refresh token that is good"),
    Column("previous", String(36), comment="the one before, still good for a moment"),
    Column("rotated_ms", BigInteger, nullable=False),
    comment="refresh tokens that may be used",
)
Index("ix_refresh_session_user", refresh_session.c.user_id)
Index("ix_refresh_session_expires", refresh_session.c.expires_ms)


password_link = Table(
    "password_link",
    metadata,
    Column("token_hash", String(64), primary_key=True, comment="SHA-256 of the one-time token in the mail"),
    Column("user_id", Uuid, ForeignKey("account.id"), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    comment="one-time links to set a password",
)
Index("ix_password_link_user", password_link.c.user_id)
Index("ix_password_link_expires", password_link.c.expires_ms)


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
    comment="applications for a service account",
)
Index("ix_service_application_created", service_application.c.created_ms, service_application.c.id)
Index(
    "ix_service_application_state",
    service_application.c.state,
    service_application.c.created_ms,
    service_application.c.id,
)
Index(
    "uq_service_application_open",
    service_application.c.login,
    unique=True,
    sqlite_where=text("state = 'SUBMITTED'"),
    postgresql_where=text("state = 'SUBMITTED'"),
)
