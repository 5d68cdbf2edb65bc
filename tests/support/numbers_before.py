"""Numbers as a database before step 0038 has them: some are another form of an older one."""

BEFORE = "0037"
STATEMENTS = (
    """INSERT INTO company (id, created_ms, name, service_type, master, master_id, token_prefix)
       VALUES ('c', 0, 'c', 's', true, 'c', 'AAAAA')""",
    *(
        f"""INSERT INTO vehicle (id, created_ms, company_id, service_type, vehicle_no, mileage, displacement, status)
            VALUES ('{record}', {created_ms}, 'c', '{service_type}', '{number}', 1, 0, 'ACTIVATED')"""
        for record, created_ms, service_type, number in (
            ("a", 3, "s", "K2"),
            ("b", 1, "s", "k 2"),
            ("c", 2, "s", "K2\u200b"),
            ("d", 4, "t", "K2"),
            ("e", 5, "s", "77라1234"),
            ("f", 6, "s", "\u200b"),
        )
    ),
    *(
        f"""INSERT INTO sensor
            (id, created_ms, company_id, service_type, serial_no, type, activation_required, status)
            VALUES ('{record}', {created_ms}, 'c', 's', '{number}', 'GPS', false, 'DEACTIVATED')"""
        for record, created_ms, number in (("x", 2, "SN-1"), ("y", 1, "sn-1"))
    ),
)
ASKED = (
    "SELECT id, vehicle_no, number_key FROM vehicle UNION ALL SELECT id, serial_no, serial_key FROM sensor ORDER BY id"
)
KEYED = [
    ("a", "K2", None),
    ("b", "k 2", "k2"),
    ("c", "K2\u200b", None),
    ("d", "K2", "k2"),
    ("e", "77라1234", "77라1234"),
    ("f", "\u200b", None),
    ("x", "SN-1", None),
    ("y", "sn-1", "sn-1"),
]
