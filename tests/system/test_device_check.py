"""`tripline device check` beside a real server: what a device maker is told of what a device sends over TLS."""

import asyncio
import json
import signal
import ssl
import subprocess
from typing import Any

import pytest
from tests.support import servers, worlds
from tests.support.device import connect_packet, hang_up
from tests.support.device_check import checking, said
from tests.support.device_messages import check_body, text
from tests.support.fleet import Registered
from tests.support.worlds import World

from tripline.wire import topics

SAMPLE = {"tid": 41, "lat": 35.157731, "lon": 129.059114, "alt": 12, "sp": 38, "clt": 1_735_689_600_000}


def watched(world: World, box: Registered) -> tuple[int, int]:
    """How many watches and traced messages of the sensor there are."""
    return (
        world.rows("SELECT count(*) FROM device_watch WHERE sensor_id = ?", box.sensor_id)[0][0],
        world.rows("SELECT count(*) FROM device_trace WHERE sensor_id = ?", box.sensor_id)[0][0],
    )


def explained(
    world: World, box: Registered, *bodies: bytes, topic: str = topics.TRE
) -> tuple[list[dict[str, Any]], int]:
    """Send the bodies to a listening command; what it told of each, and its exit code."""
    with checking(world, box, "--count", str(len(bodies))) as check:
        world.send(box, *bodies, topic=topic)
        code = check.ended()
        return check.messages, code


@pytest.mark.deep
def test_check_rejected_examples_of_section_11_are_explained_with_reason_and_remedy(world: World) -> None:
    cases = ("no_payload", "payload_is_text", "unknown_small_number", "not_json")

    messages, code = explained(world, world.box(), *(check_body(case) for case in cases))

    assert code == 1
    assert [message["outcome"] for message in messages] == ["no_payload", "payload_form", "unknown_type", "not_json"]
    assert [said(message, "rejected")[0].partition(". Here: ")[::2] for message in messages] == [
        (
            "pld: no_payload: `pld` is missing or null: put the values of the message into an object under `pld`",
            "there is no `pld`.",
        ),
        (
            "pld: payload_form: `pld` is neither an object nor an array of objects: send the values as an object,"
            " not as text",
            '`pld` is a text, "x".',
        ),
        (
            "ty: unknown_type: `ty` is not a known message number: use 1 to 12 for trips and microtrips, 100 and above"
            " for events",
            "`ty` is 55.",
        ),
        (
            ": not_json: The body is not valid JSON in UTF-8: look for a missing or trailing comma, an unclosed"
            " bracket, NaN",
            'Expecting value at character 1, near "ty=2;lat=35.1".',
        ),
    ]


@pytest.mark.deep
def test_check_obd_examples_of_section_11_are_explained_with_flags_and_voltage(world: World) -> None:
    cases = ("obd_mask_as_text", "obd_mask_as_integer", "obd_mask_unreadable", "obd_trip_under_old_number")

    messages, code = explained(world, world.box("OBD2"), *(check_body(case) for case in cases))

    as_text, as_integer, unreadable, trip = messages
    voltage = 'pld.vv: "12.7" read as the number 12.7: `vv` is a number'
    assert code == 0
    assert said(as_text, "coerced") == [voltage]
    assert 'pld.em: "28" read as hexadecimal digits: sudden U-turn, sudden acceleration' in said(as_text, "read")
    assert said(as_integer, "coerced") == [
        "pld.em: the digits of 28 read as hexadecimal 28: sudden U-turn, sudden acceleration; returned as sent",
        voltage,
    ]
    assert said(unreadable, "dropped") == [
        'pld.em: "zz" gives no manoeuvre flags, kept as sent: send two hexadecimal digits such as "28"'
    ]
    assert said(trip, "read")[0].startswith(": trip message of an OBD device, trip 42: ends the trip")
    assert said(trip, "coerced") == ["ty: 1 is read with the OBD tables, as `fc` is there: its documented number is 3"]


@pytest.mark.deep
def test_check_other_examples_of_section_11_are_explained(world: World) -> None:
    gps, _ = explained(world, world.box(), check_body("gps_aggregate"), check_body("unknown_event"))
    bbx, _ = explained(world, world.box("BLACKBOX"), check_body("blackbox_without_time"))
    obd, _ = explained(world, world.box("OBD"), check_body("headerless_unplugged"), topic=topics.ATTRIBUTES)

    assert [finding["sort"] for finding in gps[0]["findings"]] == ["read"]
    assert said(gps[0], "read")[0].startswith(": microtrip of a GPS device, trip 41: 3 samples, 2025-01-01 00:00:00")
    assert said(gps[1], "note") == ["ty: 130 is not a documented event: kept as sent, none of it is read"]
    assert said(bbx[0], "note") == ["pld.clt: no valid `clt`: as the only sample, it takes the time in `ts`"]
    assert said(obd[0], "coerced") == [
        "unpt: 1735684000 is in seconds; read as 2024-12-31 22:26:40 UTC: send milliseconds",
        "pt: 1735687600 is in seconds; read as 2024-12-31 23:26:40 UTC: send milliseconds",
    ]


def test_device_check_tells_connection_trip_redelivery_and_disconnection(world: World) -> None:
    box = world.box()

    with checking(world, box) as check:
        first = dict(check.told[-1])
        world.send(box, text(2, SAMPLE), text(2, SAMPLE))
        outcomes = [check.until("message")["outcome"], check.until("message")["outcome"]]
        disconnected, opened = check.until_each(("connection", "disconnected"), ("trip", "opened"))
        world.send(box, text(1, {"tid": 41}))
        ended = check.until("trip", "ended")["text"]

    assert first["text"] == "the device has never connected"
    assert [each["text"] for each in check.told if each["kind"] == "note"] == ["listening to the sensor of type GPS"]
    assert outcomes == ["kept", "redelivered"]
    assert disconnected.endswith(
        "disconnected, lost: the connection broke without DISCONNECT: power, network, or the device closed it"
    )
    assert opened.endswith("(number 41) opened")
    assert "(number 41) ended by its trip message" in ended


def test_device_check_tells_that_another_connection_took_over(world: World) -> None:
    box = world.box()

    async def twice() -> None:
        tls = ssl.create_default_context(cafile=world.server.ca)
        opened = []
        for _ in range(2):
            reader, writer = await asyncio.open_connection(
                world.server.device_host, world.server.device_port, ssl=tls, server_hostname="localhost"
            )
            writer.write(connect_packet(box.token))
            assert await reader.readexactly(4) == b"\x20\x02\x00\x00"
            opened.append((reader, writer))
            if len(opened) == 1:
                await asyncio.to_thread(check.until, "connection", "connected")
        await asyncio.to_thread(check.until, "connection", "another connection came")
        for _, writer in opened:
            await hang_up(writer)

    with checking(world, box) as check:
        asyncio.run(asyncio.wait_for(twice(), 60))

    assert check.told[-1]["text"].startswith("connected again; another connection came with the same token")


def test_device_check_tells_slow_samples_once(world: World) -> None:
    box = world.box()
    bodies = [text(2, {**SAMPLE, "clt": SAMPLE["clt"] + 10_000 * n}, ts=SAMPLE["clt"] + 10_000 * n) for n in range(7)]

    with checking(world, box) as check:
        world.send(box, *bodies)
        slow = check.until("note", "samples come every")["text"]
        while len(check.messages) < len(bodies):
            check.until("message")

    assert slow == "samples come every 10 s; trips are scored when it is less than 5 s: send one every 1 to 2 s"
    assert sum("samples come every" in told["text"] for told in check.told) == 1


def test_device_check_explains_a_publish_that_is_too_large(world: World) -> None:
    messages, code = explained(world, world.box(), b"x" * 262_145)

    assert code == 1
    assert said(messages[0], "rejected") == [
        ": too_large: larger than this server takes (256 KiB, unless its operator set another limit), so its beginning"
        " alone was kept: send fewer samples in one message"
    ]


def test_device_check_explains_the_part_of_an_array_that_was_left_out(world: World) -> None:
    messages, code = explained(world, world.box(), text(2, [SAMPLE, 7]))

    assert (messages[0]["outcome"], code) == ("kept", 1)
    assert said(messages[0], "rejected")[0].endswith("Here: `pld[1]` is a number.")


def test_device_check_prints_nothing_that_steers_the_terminal(world: World) -> None:
    box = world.box()
    command = servers.command("device", "check", "--data", str(world.server.data), "--for", "100", "--count", "2")

    with checking(world, box):  # both listen; neither ends the other's watch
        process = subprocess.Popen(
            command,
            env=servers.environment({"TRIPLINE_DEVICE_TOKEN": box.token}, data=world.server.data),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        listening = [process.stdout.readline(), process.stdout.readline()]
        world.send(box, b'\x1b[2J{"ty"', json.dumps({"ty": 2, "pld": {"\x1b[31m\u202e": "\x07"}}).encode())
        rest, errors = process.communicate(timeout=60)

    assert "listening to the sensor of type GPS" in listening[0]
    assert "not_json" in rest and "pld." in rest
    assert all(char.isprintable() or char == "\n" for char in "".join(listening) + rest)
    assert "messages 2, of these rejected in whole or in part 1" in rest
    assert (errors, process.returncode) == ("", 1)


def test_device_check_ends_its_watch_and_trace_at_the_end_and_when_interrupted(world: World) -> None:
    box = world.box()

    with checking(world, box) as check:
        world.send(box, text(2, SAMPLE))
        check.until("message")
        during = watched(world, box)
        check.process.send_signal(signal.SIGINT)
        code = check.ended()

    assert (during, watched(world, box)) == ((1, 1), (0, 0))
    assert (code, check.errors) == (130, "")


def test_device_check_that_was_killed_leaves_a_watch_that_expires(world: World) -> None:
    box = world.box()

    with checking(world, box) as check:
        check.process.kill()

    ((until_ms,),) = world.rows("SELECT until_ms FROM device_watch WHERE sensor_id = ?", box.sensor_id)
    begun_ms = check.told[0]["at"]
    assert 240_000 < until_ms - begun_ms <= 301_000


def test_device_check_ends_when_the_sensor_is_deleted(world: World) -> None:
    box = world.box()

    with checking(world, box) as check:
        world.company.http.delete(f"/api/tre/v1/sensor/{box.sensor_id}").raise_for_status()
        code = check.ended()

    assert (code, check.errors) == (1, "tripline: The sensor was deleted.\n")
    assert watched(world, box) == (0, 0)


def test_device_check_refuses_an_unknown_token_without_echoing_it(world: World) -> None:
    token = "ZZ" + "9" * 18

    done = servers.run_here("device", "check", "--data", str(world.server.data), "--token", token)

    assert done.returncode == 1
    assert done.stderr == "tripline: No sensor of this installation has this access token.\n"
    assert token not in done.stdout + done.stderr + worlds.log_of(world)


def test_device_check_without_messages_says_what_to_look_at(world: World) -> None:
    box = world.box()

    done = servers.run_here(
        "device", "check", "--data", str(world.server.data), "--for", "0.5",
        variables={"TRIPLINE_DEVICE_TOKEN": box.token},
    )  # fmt: skip

    assert done.returncode == 1
    assert "nothing came" in done.stderr
    assert box.token not in done.stdout + done.stderr


def test_device_check_without_a_server_says_so_and_waits_for_it(tmp_path: Any) -> None:
    data = tmp_path / "data"
    with worlds.running(data) as world:
        box = world.box()
    stopped = World(world.server, world.company, world.numbers)

    with checking(stopped, box) as check:
        waiting = check.until("note", "no server")
        with servers.serving(data) as server:
            again = check.until("note", "the server runs")
            World(server, world.company, world.numbers).send(box, text(2, SAMPLE))
            message = check.until("message")

    assert "tripline serve" in waiting["text"]
    assert again["text"] == "the server runs"
    assert message["outcome"] == "kept"


@pytest.mark.sqlite("a data folder holds the store")
def test_device_check_without_a_data_folder_says_what_makes_one(tmp_path: Any) -> None:
    done = servers.run_here("device", "check", "--data", str(tmp_path / "none"), "--token", "x" * 20)

    assert done.returncode == 1
    assert "There is no Tripline data in" in done.stderr


def test_nothing_that_was_explained_is_in_the_log(world: World) -> None:
    log = worlds.log_of(world)

    assert "35.157731" not in log
    assert [word for word in ("failed", "Traceback") if word in log] == []
