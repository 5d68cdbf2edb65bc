"""Tables of trends: sums of scored trips, rankings, percentiles, and the periods to count them for."""

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, String, Table

from tripline.store.tables.base import RowNumber, Uuid, metadata, partial_index

score_sum = Table(
    "score_sum",
    metadata,
    Column("subject", Uuid, primary_key=True, comment="id of the vehicle, driver or company"),
    Column("period", String(8), primary_key=True, comment="domain/trends.py"),
    Column("day", Integer, primary_key=True, autoincrement=False, comment="the first of the period, since 1970-01-01"),
    Column("policy", Integer, primary_key=True, autoincrement=False, comment="by which the trips were scored"),
    Column("kind", String(8), nullable=False, comment="whose trips: vehicle, driver or company"),
    Column("trips", BigInteger, nullable=False),
    Column("accel", BigInteger, nullable=False),
    Column("de_accel", BigInteger, nullable=False),
    Column("over_speed", BigInteger, nullable=False),
    Column("over_ms", BigInteger, nullable=False),
    Column("driving_ms", BigInteger, nullable=False),
    Column("distance_m", BigInteger, nullable=False),
    Column("burden", BigInteger, nullable=False, comment="what scores lack (domain/trends.py)"),
    Column("known_m", BigInteger, nullable=False, comment="distance with a limit from the map"),
    Column("added_m", BigInteger, nullable=False, server_default="0", comment="by the policy to the trips' distances"),
    Column("vague_m", BigInteger, nullable=False, server_default="0", comment="distance with unknown harsh driving"),
    comment="sums of scored trips by day, week and month",
    sqlite_with_rowid=False,
)
Index("ix_score_sum_period", score_sum.c.kind, score_sum.c.period, score_sum.c.day, score_sum.c.subject)

score_rank = Table(
    "score_rank",
    metadata,
    Column("subject", Uuid, primary_key=True, comment="id of the vehicle or driver"),
    Column("period", String(8), primary_key=True, comment="domain/trends.py"),
    Column("day", Integer, primary_key=True, autoincrement=False, comment="the first of the period, since 1970-01-01"),
    Column("kind", String(8), nullable=False, comment="vehicle or driver"),
    Column("company_id", Uuid, nullable=False, comment="of the vehicle or driver"),
    Column("trips", BigInteger, nullable=False, comment="of all policies"),
    Column("distance_m", BigInteger, nullable=False, comment="of all policies"),
    Column("added_m", BigInteger, nullable=False, comment="by the policies to the trips' distances"),
    Column("burden", BigInteger, nullable=False, comment="of all policies"),
    Column("harsh", BigInteger, nullable=False, comment="harsh events of all policies"),
    Column("known_m", BigInteger, nullable=False, comment="distance with a limit from the map"),
    Column("badness", Float, nullable=False, comment="burden of each metre (domain/trends.py)"),
    Column("harsh_rate", Float, nullable=False, comment="harsh events of each metre"),
    comment="vehicles and drivers of companies by their score in a day, week or month",
    sqlite_with_rowid=False,
)
LACKS_LIMITS: Final = "known_m < distance_m * 0.5"
"""`trends.KNOWN_LEAST` of rows of rankings, in a form for which SQLite uses the index."""
_RANKING: Final = [score_rank.c[name] for name in ("kind", "period", "day", "company_id")]
Index("ix_score_rank_company", *_RANKING, score_rank.c.badness, score_rank.c.subject)
Index("ix_score_rank_harsh", *_RANKING, score_rank.c.harsh_rate, score_rank.c.subject)
partial_index("ix_score_rank_lacking", *_RANKING, score_rank.c.subject, where=LACKS_LIMITS)

score_change = Table(
    "score_change",
    metadata,
    Column("no", RowNumber, primary_key=True, autoincrement=False, comment="random"),
    Column("day", Integer, nullable=False, comment="since 1970-01-01"),
    comment="days whose sums changed; a worker moves them to score_recount",
)

score_recount = Table(
    "score_recount",
    metadata,
    Column("period", String(8), primary_key=True, comment="domain/trends.py"),
    Column("day", Integer, primary_key=True, autoincrement=False, comment="the first of the period, since 1970-01-01"),
    Column("due_ms", BigInteger, nullable=False, comment="when to count it; while it is counted, end of the lease"),
    Column("again", Boolean, nullable=False, comment="its sums have changed since it became due or was taken"),
    comment="periods whose standings are to be counted",
    sqlite_with_rowid=False,
)

score_standing = Table(
    "score_standing",
    metadata,
    Column("kind", String(8), primary_key=True, comment="vehicle, driver or company"),
    Column("period", String(8), primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False, comment="the first of the period, since 1970-01-01"),
    Column("service_type", String(255), primary_key=True),
    Column("badness", Float, primary_key=True, comment="burden of each metre (domain/trends.py)"),
    Column("percentile", Float, nullable=False, comment="of this badness"),
    Column("above", Float, nullable=False, comment="percentile of everything between this badness and the next"),
    comment="percentiles of scores, by kind, period and service type",
    sqlite_with_rowid=False,
)
