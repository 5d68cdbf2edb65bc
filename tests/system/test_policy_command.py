"""`tripline policy` beside a running server: what it says, by which policy trips are scored then, wrong use."""

import asyncio
import ssl

from tests.support import servers, waits
from tests.support.device import CarefulDevice
from tests.support.fleet import Company
from tests.support.spec import world

START_MS = 1_780_000_000_000
PATIENCE_S = 30
STRICT = "[scoring]\nharsh_weight = 0.9\n"


def test_policy_is_added_chosen_scored_by_and_left_again(tmp_path):
    (tmp_path / "strict.toml").write_text(STRICT, "utf-8")
    place = ("--data", str(tmp_path / "data"))

    def policy(*words):
        done = servers.run_here("policy", *words, *place)
        return done.returncode, done.stdout

    with servers.serving(tmp_path / "data") as server, Company(server.api, server.data) as company:
        vehicle = company.vehicle_with_sensor(1)
        tls = ssl.create_default_context(cafile=str(server.ca))
        box = CarefulDevice(vehicle.token, server.device_host, server.device_port, tls)
        asyncio.run(box.play(world.drive(START_MS, 1)))
        path = f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/analytics"

        def score():
            [found] = company.get(f"{path}/drivingScore", limit=10)["data"] or [{"score": None}]
            return found["score"]

        first = waits.seen(score, lambda found: found is not None, within_s=PATIENCE_S)

        then = ("--from", "2020-01-01")
        added = [policy("add", str(tmp_path / "strict.toml")) for _ in range(2)]
        chosen = policy("choose", "4", "--service-type", "test-fleet", *then)
        listed = policy("list")
        shown = policy("show", "4")
        unmoved = score()
        rescored = servers.run_here("rescore", *place)
        strict = score()
        left = policy("choose", "--settings", "--service-type", "test-fleet", *then)
        servers.run_here("rescore", *place)
        by_settings = score()
        own = company.record["id"]["id"]
        for_company = policy("choose", "4", "--company", own.upper(), *then)
        servers.run_here("rescore", *place)

        assert added == [(0, "policy 4\n")] * 2
        assert chosen == (0, "service_type test-fleet: policy 4\n")
        assert listed == (
            0,
            "policy 1: chosen for nobody\npolicy 2: chosen for nobody\npolicy 3: chosen for nobody\n"
            "policy 4: service_type test-fleet from 2020-01-01 00:00\n4 policies\n",
        )
        assert shown[0] == 0
        assert "scoring.harsh_weight = 0.9\n" in shown[1]
        assert "harsh.start = [10.0,8.0,6.0]\n" in shown[1]
        assert "grace_s" not in shown[1]
        assert unmoved == first
        assert rescored.stdout.startswith("trips judged 1: scores moved 1,")
        assert strict < first
        assert left == (0, "service_type test-fleet: policy of the settings\n")
        assert by_settings == first
        assert for_company == (0, f"company {own}: policy 4\n")
        assert score() == strict


def test_wrong_use_names_what_is_wrong(tmp_path):
    (tmp_path / "strict.toml").write_text(STRICT, "utf-8")
    (tmp_path / "wrong.toml").write_text("[scoring]\nharsh_weight = -1\n", "utf-8")
    place = ("--data", str(tmp_path / "data"))
    nobody = "5f0c1a52-0000-4000-8000-000000000001"
    servers.run_here("policy", "add", str(tmp_path / "strict.toml"), *place)

    wrong = {
        ("show", "0"): "There is no policy 0. Policies that there are: 1, 2, 3, 4.",
        ("choose", "0", "--company", nobody): "There is no policy 0.",
        ("choose", "2", "--company", nobody): f"No company has the id {nobody}.",
        ("choose", "2", "--service-type", "none"): "No company has the service type none.",
        ("choose", "2", "--company", "x"): "--company must be the id of a company",
        ("choose", "2"): "Give either --company or --service-type.",
        ("choose", "--company", nobody): "Give either the number of a policy or --settings.",
        ("add", str(tmp_path / "wrong.toml")): "scoring.harsh_weight",
    }
    for words, told in wrong.items():
        done = servers.run_here("policy", *words, *place)

        assert (done.returncode, told in done.stderr) == (2, True), (words, done.stderr)
