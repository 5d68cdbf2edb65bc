"""`tripline rescore` beside a running server: what it says, what REST shows afterwards, wrong use."""

import asyncio
import ssl

from tests.support import servers, waits
from tests.support.device import CarefulDevice
from tests.support.fleet import Company
from tests.support.spec import world

START_MS = 1_780_000_000_000
PATIENCE_S = 30
STRICT = "[scoring]\nharsh_weight = 0.9\n"


def scores(company, vehicle):
    path = f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/analytics"
    return (
        company.get(f"{path}/drivingScore", limit=10)["data"],
        company.get(f"{path}/gpsEvent", limit=100)["data"],
        company.http.get(f"{path}/drivingScore/stat").json(),
    )


def test_drives_are_scored_anew_beside_a_server_on_request_alone(tmp_path):
    settings = tmp_path / "strict.toml"
    settings.write_text(STRICT, "utf-8")

    def rescore(*words):
        return servers.run_here("rescore", "--data", str(tmp_path / "data"), *words)

    with servers.serving(tmp_path / "data") as server, Company(server.api, server.data) as company:
        vehicle = company.vehicle_with_sensor(1)
        tls = ssl.create_default_context(cafile=str(server.ca))
        box = CarefulDevice(vehicle.token, server.device_host, server.device_port, tls)
        asyncio.run(box.play(world.drive(START_MS, 1)))
        before = waits.seen(lambda: scores(company, vehicle), lambda found: found[0], within_s=PATIENCE_S)

        said = [
            rescore("--all"),
            rescore("--dry-run", "--config", str(settings)),
            rescore("--dry-run", "--policy", "9"),
        ]
        unmoved = scores(company, vehicle)
        moving = rescore("--config", str(settings), "--from", "2026-05-01", "--to", "2026-07-01")
        after = scores(company, vehicle)
        back = rescore()

        assert unmoved == before
        assert [each.returncode for each in (*said, moving, back)] == [0, 0, 2, 0, 0]
        assert said[0].stdout == "trips judged 1: scores moved 0, new 0, gone 0, as before 1, failed 0\n"
        assert said[1].stdout.startswith(
            "trips judged 1: scores moved 1, new 0, gone 0, as before 0, failed 0 (dry run)\n"
        )
        assert "There is no policy 9. Policies that there are: 1, 2, 3." in said[2].stderr
        assert moving.stdout == said[1].stdout.replace(" (dry run)", "")
        [[old], [new]] = before[0], after[0]
        assert new["score"] < old["score"]
        assert new["createdTime"] > old["createdTime"]
        assert {**new, "score": 0, "createdTime": 0} == {**old, "score": 0, "createdTime": 0}
        assert [event["eventTs"] for event in after[1]] == [event["eventTs"] for event in before[1]]
        assert after[2]["score"] == new["score"] != before[2]["score"]
        assert scores(company, vehicle)[0][0]["score"] == old["score"]


def test_wrong_use_names_the_option_and_what_it_takes(tmp_path):
    place = ("rescore", "--data", str(tmp_path / "data"))

    wrong = [
        servers.run_here(*place, *words)
        for words in (("--policy", "1"), ("--company", "x"), ("--from", "yesterday"), ("--dry-run", "--policy", "0"))
    ]

    assert [each.returncode for each in wrong] == [2] * 4
    for each, told in zip(
        wrong, ("--policy goes with --dry-run only", "--company must be", "--from", "--policy"), strict=True
    ):
        assert told in each.stderr
