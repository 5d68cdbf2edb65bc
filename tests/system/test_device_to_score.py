"""The main job from outside: a foreign MQTT client publishes a drive, and its score comes back over REST."""

import json
import ssl
import time

import paho.mqtt.client as paho
from tests.support import fleet, paho_clients, servers

START_MS = 1_780_000_000_000
STEPS = 400
DEGREES_PER_STEP = 0.00015
"""About 16.7 m northward a second: 60 km/h."""
PATIENCE_S = 30


def microtrip(step: int) -> bytes:
    at_ms = START_MS + step * 1000
    item = {"tid": 1, "try": 1, "clt": at_ms, "lat": 37.5 + step * DEGREES_PER_STEP, "lon": 127.0, "sp": 60.0}
    return json.dumps({"ty": 2, "ts": at_ms, "pld": item}).encode()


def trip() -> bytes:
    end_ms = START_MS + (STEPS - 1) * 1000
    body = {"tid": 1, "try": 1, "stt": START_MS, "edt": end_ms, "dis": 6_600}
    return json.dumps({"ty": 1, "ts": end_ms, "pld": body}).encode()


def publish_all(server: servers.Running, token: str, bodies: list[bytes]) -> None:
    """Publish at QoS 1 as paho does, until every message is acknowledged."""
    client = paho.Client(paho.CallbackAPIVersion.VERSION2, protocol=paho.MQTTv311)
    client.username_pw_set(token)
    client.tls_set_context(ssl.create_default_context(cafile=str(server.ca)))
    client.connect(server.device_host, server.device_port)
    client.loop_start()
    try:
        sent = [client.publish("v1/sensors/me/tre", body, qos=1) for body in bodies]
        for each in sent:
            each.wait_for_publish(PATIENCE_S)
        assert all(each.is_published() for each in sent)
        client.disconnect()
    finally:
        paho_clients.stop(client)


def test_drive_published_by_paho_is_scored_over_rest(tmp_path):
    with servers.serving(tmp_path / "data") as server, fleet.Company(server.api, server.data) as company:
        registered = company.vehicle_with_sensor(1)

        publish_all(server, registered.token, [*map(microtrip, range(STEPS)), trip()])
        scores = scores_of(company, registered.vehicle_id)

        stat = company.get(f"/api/tre/v1_3/vehicle/{registered.vehicle_id}/analytics/drivingScore/stat")
        report = servers.run_here("doctor", "--data", str(server.data))
    assert [(score["score"], score["dist"]) for score in scores] == [(100.0, 6_600)]
    assert (stat["score"], stat["count"]) == (100.0, 1)
    assert (report.returncode, "rejected messages: 0" in report.stdout) == (0, True)


def scores_of(company: fleet.Company, vehicle_id: str) -> list[dict]:
    """The vehicle's scores, as soon as there are any."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        page = company.get(f"/api/tre/v1_3/vehicle/{vehicle_id}/analytics/drivingScore", limit=10)
        if page["data"]:
            return page["data"]
    raise AssertionError("no score in time")
