"""Sums of scores as a database before step 0032 has them, without percentiles."""

BEFORE = "0031"
STATEMENTS = (
    """INSERT INTO score_sum
       (subject, period, day, policy, kind, trips, accel, de_accel, over_speed, over_ms, driving_ms, distance_m, burden)
       VALUES ('c', 'day', 20000, 1, 'company', 1, 0, 0, 0, 0, 0, 1, 0),
              ('c', 'day', 20000, 2, 'company', 1, 0, 0, 0, 0, 0, 1, 0),
              ('d', 'day', 20000, 1, 'company', 1, 0, 0, 0, 0, 0, 1, 0),
              ('c', 'week', 19995, 1, 'company', 1, 0, 0, 0, 0, 0, 1, 0),
              ('v', 'week', 19995, 1, 'vehicle', 1, 0, 0, 0, 0, 0, 1, 0)""",
)
ASKED = "SELECT period, day, due_ms, again FROM score_recount ORDER BY period, day"
TO_COUNT = [("day", 20000, 0, False), ("week", 19995, 0, False)]
