"""Very many trips of the vehicles of `large_lists`, by SQL: half of them scored, the newest of some vehicles open."""

from typing import Final

from tripline.store.transactions import WriteTx

BEGIN_MS: Final = 1_788_000_000_000
DAYS: Final = 50
END_MS: Final = BEGIN_MS + DAYS * 86_400_000
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
        " created_ms, vehicle_id, user_id, 50.0 + no % 50, 1, 1, no % 2, 1.0, 9000.0, 1, company_id, 1, 1500000, 4500"
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
