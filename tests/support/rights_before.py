"""Rights as a database before step 0026 has them, without the numbers of their vehicles."""

BEFORE = "0025"
STATEMENTS = (
    """INSERT INTO company (id, created_ms, name, service_type, master, master_id, token_prefix)
       VALUES ('c', 0, 'c', 's', true, 'c', 'AAAAA')""",
    """INSERT INTO account
       (id, created_ms, company_id, authority, name, email, login, password_hash, password_updated_ms, enabled)
       VALUES ('d', 0, 'c', 'DIRECTOR', 'd', 'd@x', 'd@x', '', 0, true)""",
    """INSERT INTO vehicle (id, created_ms, company_id, service_type, vehicle_no, mileage, displacement, status)
       VALUES ('v', 0, 'c', 's', '34B', 1, 0, 'ACTIVATED'), ('w', 0, 'c', 's', '12A', 1, 0, 'ACTIVATED')""",
    """INSERT INTO vehicle_user (id, created_ms, vehicle_id, company_id, user_id, user_role)
       VALUES ('1', 0, 'v', 'c', 'd', 'DRIVER'), ('2', 0, 'w', 'c', 'd', 'DELEGATED_DIRECTOR')""",
)
ASKED = "SELECT id, vehicle_id, user_role, vehicle_no FROM vehicle_user ORDER BY id"
NUMBERED = [("1", "v", "DRIVER", "34B"), ("2", "w", "DELEGATED_DIRECTOR", "12A")]
