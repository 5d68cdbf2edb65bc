"""`tripline import` from outside: beside a running server and without one."""

import os

from tests.support import servers
from tests.support.fleet import Company

HEADER = "vehicleNo,mileage\n"


def imported(data, file, *flags, what="vehicles", email="admin@test-fleet.example"):
    return servers.run_here("import", what, str(file), "--data", str(data), "--email", email, *flags)


def test_import_works_beside_a_running_server_and_on_a_stopped_one(tmp_path):
    data = tmp_path / "data"
    good, bad, western = (tmp_path / f"{name}.csv" for name in ("good", "bad", "western"))
    good.write_text(HEADER + "".join(f"N{number:05d},1\n" for number in range(20_001)))
    bad.write_text(HEADER + "A,1\nB,0\n\x1b[31mC,3\n", "utf-8")

    with servers.serving(data) as server, Company(server.api, data) as company:
        dry = imported(data, good, "--dry-run")
        done = imported(data, good)
        listed = company.get(f"/api/tre/v1/company/{company.record['id']['id']}/vehicles", limit=2)["data"]
    refused = imported(data, bad)
    skipped = imported(data, bad, "--skip-bad-rows")
    again = imported(data, bad, "--skip-bad-rows")
    western.write_bytes("vehicleNo,vendor,mileage\nW1,Škoda,1\n".encode("windows-1252"))
    unsure = imported(data, western)
    named = imported(data, western, "--encoding", "windows-1252")

    checked = "checked 10048 rows\nchecked 20001 rows\n"
    assert dry.returncode == 0
    assert dry.stdout == checked + "encoding utf-8\nrows 20001, bad 0, created 0 (dry run)\n"
    assert dry.stderr == ""
    assert done.returncode == 0
    assert done.stdout == checked + "kept 20001 rows\nencoding utf-8\nrows 20001, bad 0, created 20001\n"
    assert [vehicle["vehicleNo"] for vehicle in listed] == ["N00000", "N00001"]
    told = (
        "row 3: Parameter 'mileage' can't be empty!\n"
        "row 4: Parameter 'vehicleNo' must not contain control characters.\n"
    )
    assert (refused.returncode, refused.stdout) == (1, told + "encoding utf-8\nrows 3, bad 2, created 0\n")
    assert (skipped.returncode, skipped.stdout) == (1, told + "encoding utf-8\nrows 3, bad 2, created 1\n")
    assert again.stdout.startswith("row 2: Parameter 'vehicleNo': a vehicle with the number A is already registered.\n")
    assert (unsure.returncode, "Parameter 'encoding' must name" in unsure.stderr) == (1, True)
    assert (named.returncode, named.stdout) == (0, "encoding windows-1252\nrows 1, bad 0, created 1\n")


def test_import_as_nobody_or_of_nothing_says_why_in_one_line(tmp_path):
    data = tmp_path / "data"
    file = tmp_path / "book.csv"
    file.write_bytes(b"PK\x03\x04")
    servers.run_here(
        "admin", "grant", "--data", str(data), "--email", "a@a.example", "--password-stdin", stdin="pass phrase"
    )

    nobody = imported(data, file, email="nobody@a.example")
    homeless = imported(data, file, email="a@a.example")
    wrong = imported(data, file, what="cats")
    os.mkfifo(tmp_path / "pipe")
    pipe = imported(data, tmp_path / "pipe", email="a@a.example")
    absent = imported(data, tmp_path / "absent.csv")

    assert nobody.returncode == 1
    assert nobody.stderr == "tripline: There is no enabled account with the e-mail address nobody@a.example.\n"
    assert (homeless.returncode, homeless.stderr) == (
        1,
        "tripline: This account belongs to no company; a granted account registers its company first.\n",
    )
    assert pipe.stderr == "tripline: The file must be a regular file, because it is read more than once.\n"
    assert (wrong.returncode, absent.returncode) == (2, 2)
