"""Very many trips of the vehicles of `large_lists`, by SQL: half of them scored, the newest of some vehicles open."""

from typing import Final

from tests.support import kept_sums
from tripline.store.transactions import WriteTx

BEGIN_MS: Final = 1_788_000_000_000
DAYS: Final = 50
END_MS: Final = BEGIN_MS + DAYS * 86_400_000
_DAY: Final = "(start_ms + 32400000) / 86400000"
"""Days since 1970-01-01 at which a trip began, nine hours ahead of UTC."""
LAST_DAYS: Final = 3
"""Latest days that have sums; weeks and months all have."""
QUALITY: Final = '{"samples":600,"periodMs":1000}'


def fill(tx: WriteTx, vehicles: int, each: int) -> None:
    """Write so many trips of each vehicle, spread over `DAYS`; on PostgreSQL with statistics."""
    step = (END_MS - BEGIN_MS) // each
    blob = f"CAST('{QUALITY}' AS BLOB)" if not tx.shared else f"'{QUALITY}'::bytea"
    numbered = (
        "WITH RECURSIVE numbered (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbered WHERE n + 1 < {count}),"
        " of_vehicle (id, company_id, n) AS (SELECT id, company_id, created_ms FROM vehicle)"
    )
    begins = f"({BEGIN_MS} + CAST(numbered.n AS bigint) * {step} + of_vehicle.n * 7919 % {step})"
    # Behind the trips of `large_lists`.
    no = f"({vehicles} + numbered.n * {vehicles} + of_vehicle.n)"
    tx.run_sql(
        "INSERT INTO trip (no, id, created_ms, company_id, vehicle_id, user_id, service_type, device_type, parking,"
        f" state, start_ms, end_ms, distance_m, not_scored, quality) {numbered.format(count=each)} SELECT {no},"
        f" 't' || {no}, {begins}, of_vehicle.company_id, of_vehicle.id,"
        f" 'p' || (of_vehicle.n + 1000000) || '-0000-11f1-8000-1d43f3c436cb', 'taxi', 'GPS', 1 = 0,"
        f" CASE WHEN numbered.n = {each - 1} AND of_vehicle.n % 10 = 0 THEN 'OPEN' ELSE 'COMPLETE' END, {begins},"
        f" {begins} + 1800000, 9000.0, CASE WHEN {no} % 4 = 1 THEN 'too_short' WHEN {no} % 1000 = 3 THEN 'sparse' END,"
        f" {blob} FROM numbered CROSS JOIN of_vehicle",
        (),
    )
    tx.run_sql(
        "INSERT INTO driving_score (trip_no, trip_id, created_ms, vehicle_id, user_id, score, accel, de_accel,"
        " over_speed, over_speed_s, distance_m, policy, company_id, day, driving_ms, known_m) SELECT no, id,"
        " created_ms, vehicle_id, user_id, 50.0 + no % 50, 1, 1, no % 2, 1.0, 9000.0, 1, company_id,"
        f" {_DAY}, 1500000, 4500"
        " FROM trip WHERE not_scored IS NULL AND state <> 'OPEN'",
        (),
    )
    tx.run_sql(
        "INSERT INTO dispute (no, id, company_id, trip_no, reason, text, state)"
        " SELECT no, id, company_id, no, 'OTHER', '', 'OPEN' FROM trip WHERE no % 5000 = 2",
        (),
    )
    if tx.shared:
        tx.run_sql("ANALYZE trip, driving_score, dispute", ())


def sums(tx: WriteTx) -> None:
    """Write the sums of the scores and the rows of rankings; on PostgreSQL with statistics."""
    month = (
        "date_trunc('month', date '1970-01-01' + CAST(day AS integer))::date - date '1970-01-01'"
        if tx.shared
        else "CAST(strftime('%s', day * 86400, 'unixepoch', 'start of month') AS INTEGER) / 86400"
    )
    latest = f"day > ({END_MS} + 32400000) / 86400000 - {LAST_DAYS}"
    firsts = {"day": ("day", latest), "week": ("day - (day + 3) % 7", "1 = 1"), "month": (month, "1 = 1")}
    for kind, subject in (("vehicle", "vehicle_id"), ("driver", "user_id"), ("company", "company_id")):
        for period, (first, condition) in firsts.items():
            tx.run_sql(
                "INSERT INTO score_sum (subject, period, day, policy, kind, trips, accel, de_accel, over_speed,"
                " over_ms, driving_ms, distance_m, burden, known_m)"
                f" SELECT {subject}, '{period}', {first}, 1, '{kind}', COUNT(*),"
                " SUM(accel), SUM(de_accel), SUM(over_speed), COUNT(*) * 1000, SUM(driving_ms), COUNT(*) * 9000,"
                " SUM(CAST((100.0 - score) * 90000000 AS bigint)), SUM(known_m) FROM driving_score"
                f" WHERE {subject} IS NOT NULL AND {condition} GROUP BY 1, 3",
                (),
            )
    kept_sums.rank(tx)
    if tx.shared:
        tx.run_sql("ANALYZE score_sum, score_rank", ())
