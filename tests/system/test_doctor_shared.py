"""`tripline doctor` on several processes and one PostgreSQL while they are stopped, killed, and cut off."""

import subprocess
from pathlib import Path

import pytest
from tests.support import clusters, postgres, servers, waits

PASSWORD = "the-store-s-own"
PATIENCE_S = 60


def doctor(deployment: clusters.Deployment) -> subprocess.CompletedProcess[str]:
    """A run of it; whatever it finds, it tells no secret and no traceback."""
    # As on a machine without listeners: the certificate of these ones lasts for a day.
    done = servers.run_here("doctor", variables={"TRIPLINE_STORE_URL": deployment.variables["TRIPLINE_STORE_URL"]})
    assert PASSWORD not in done.stdout
    assert done.stderr == ""
    return done


def wrong(deployment: clusters.Deployment) -> list[str]:
    """What is wrong, as soon as something is."""
    done = waits.seen(lambda: doctor(deployment), lambda found: found.returncode != 0, within_s=PATIENCE_S)
    assert done.returncode == 1
    return [line for line in done.stdout.splitlines() if line.startswith("WRONG ")]


def until_wrong(deployment: clusters.Deployment, line: str) -> None:
    waits.seen(lambda: wrong(deployment), lambda found: found == [line], within_s=PATIENCE_S)


@pytest.mark.deep
@pytest.mark.slow
def test_doctor_names_what_is_missing_while_processes_and_the_database_go_away(tmp_path: Path) -> None:
    postgres.need("the doctor beside several processes")
    with (
        postgres.cluster(password=PASSWORD) as database,
        clusters.deployed(tmp_path, database, gateways=1, apis=1, workers=1) as deployment,
    ):
        (gateway,), (worker,) = deployment.gateways, deployment.workers
        well = doctor(deployment)
        worker.stop()
        without_worker = wrong(deployment)
        gateway.kill()
        until_wrong(deployment, "WRONG processes: 1 running, no process has the role gateway or worker")
        silent = doctor(deployment).stdout
        worker.start()
        worker.until_logged("node.buried")
        without_gateway = doctor(deployment).stdout
        database.stop()
        (away,) = wrong(deployment)

    assert (well.returncode, "ok    processes: 3 running" in well.stdout) == (0, True)
    assert without_worker == ["WRONG processes: 2 running, no process has the role worker"]
    assert ": gateway, for " in silent and ", silent for " in silent
    assert "WRONG processes: 2 running, no process has the role gateway\n" in without_gateway
    assert ": gateway, for " not in without_gateway
    assert away.startswith("WRONG database: The database cannot be used: ")
    assert away.endswith("Connection refused.")
    logs = "".join(node.log.read_text() for node in deployment.nodes)
    assert "node.buried" in logs
    assert PASSWORD not in logs
