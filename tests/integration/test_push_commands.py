"""`tripline push` in a data folder, and what the doctor says of it."""

import asyncio

import pytest
from tests.support import stores
from tests.support.pushes import World
from tests.support.receivers import Receiver, Reply, serving, status

from tripline import cli, config
from tripline.adapters import data_folder
from tripline.domain.pushes import Channel


@pytest.fixture
def data(tmp_path, monkeypatch):
    folder = data_folder.prepare(tmp_path / "data")
    stores.migrated(folder)
    for name, value in stores.variables(folder).items():
        monkeypatch.setenv(name, value)
    return folder


def within(data, scenario):
    """What the scenario does with the world of the folder."""

    async def play():
        store = stores.Database(data).open()
        try:
            return await scenario(World(store, config.Push()))
        finally:
            await store.close()

    return asyncio.run(play())


def given_up(data):
    """Two messages to one company and one to another, all refused for good; companies and ids."""

    async def scenario(world):
        receiver = Receiver(lambda _: Reply(status(410)))
        async with serving(receiver):
            ace = await world.company("ace", notify_host=receiver.url, rpc_notify_host=receiver.url)
            bee = await world.company("bee", notify_host=receiver.url)
            ids = [
                *await world.put(ace, 0, b'{"secret":"place"}'),
                *await world.put(ace, 1, b"{}", channel=Channel.RPC_NOTIFY),
                *await world.put(bee, 0, b"{}"),
            ]
            async with world.pushing():
                await world.until([(b'{"secret":"place"}', 1, True), (b"{}", 1, True), (b"{}", 1, True)])
        return ace, bee, ids

    return within(data, scenario)


def ran(capsys, data, *arguments):
    """Exit code, lines, and what was said on standard error."""
    capsys.readouterr()  # what the pusher of the test itself has logged
    code = cli.run([*arguments, "--data", str(data)])
    printed = capsys.readouterr()
    said = [line for line in printed.out.splitlines() if not line.startswith("{")]  # beside what was logged
    return code, said, printed.err


def listed(capsys, data, *filters):
    """The ids that are listed."""
    code, lines, _ = ran(capsys, data, "push", "list", *filters)
    assert code == cli.OK
    assert lines[-1] == f"{len(lines) - 1} messages shown"
    return [line.split()[2] for line in lines[:-1]]


def test_messages_are_listed_without_what_they_say(capsys, data):
    ace, _, ids = given_up(data)

    code, lines, _ = ran(capsys, data, "push", "list")

    assert code == cli.OK
    assert lines[0] == (
        f"2025-10-09 08:53:20 {ids[0]} company {ace} notify sensor c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11"
        " selector 2 attempts 1: HTTP status 410."
    )
    assert len(lines) == 4
    assert "place" not in "".join(lines)


def test_what_messages_say_is_shown_on_demand(capsys, data):
    given_up(data)

    _, lines, _ = ran(capsys, data, "push", "list", "--body")

    assert lines[1] == '  {"secret":"place"}'


def test_filters_choose(capsys, data):
    ace, bee, ids = given_up(data)

    assert listed(capsys, data, "--company", bee) == ids[2:]
    assert listed(capsys, data, "--company", ace.upper()) == ids[:2]
    assert listed(capsys, data, "--receiver", "rpcNotify") == ids[1:2]
    assert listed(capsys, data, "--sensor", "c4d91e61-c801-11ef-9d5c-6b1f6f2a4c11") == ids[1:2]
    assert listed(capsys, data, "--id", ids[0], "--id", ids[2]) == [ids[0], ids[2]]
    assert listed(capsys, data, "--since", "2025-10-09T08:53:20") == ids
    assert listed(capsys, data, "--since", "2025-10-09T08:53:21") == []


def test_so_many_are_listed_at_most(capsys, data):
    given_up(data)

    assert ran(capsys, data, "push", "list", "--limit", "2")[1][-1] == "2 messages shown; there may be more (--limit)"
    assert len(listed(capsys, data, "--limit", "4")) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        ("--company", "x"),
        ("--sensor", "x"),
        ("--id", "x"),
        ("--since", "yesterday"),
        ("--receiver", "x"),
        ("--limit", "x"),
    ],
)
@pytest.mark.parametrize("command", ["list", "resend"])
def test_wrong_filter_exits_2(capsys, tmp_path, command, wrong):
    code, out, err = ran(capsys, tmp_path, "push", command, *wrong)

    assert (code, out) == (cli.WRONG_USE, [])
    assert err


def test_messages_are_sent_again_with_their_ids_by_the_server_that_runs(capsys, data):
    ace, _, ids = given_up(data)

    async def scenario(world):
        receiver = Receiver()
        async with serving(receiver), world.pushing():
            await world.readdress(ace, receiver.url)
            code, lines, _ = await asyncio.to_thread(ran, capsys, data, "push", "resend", "--id", ids[0])
            await receiver.until(1)
            await world.until([(b"{}", 1, True), (b"{}", 1, True)])
            return code, lines, receiver.requests

    code, lines, (request,) = within(data, scenario)

    assert (code, lines) == (cli.OK, ["1 messages wait to be sent again, 0 were waiting already and go out now"])
    assert (request.id, request.body) == (ids[0], b'{"secret":"place"}')


def test_doctor_counts_what_waits_and_what_was_given_up(capsys, data):
    def finding():
        (line,) = [line for line in ran(capsys, data, "doctor")[1] if " push: " in line]
        return line

    none = finding()
    given_up(data)
    some = finding()
    ran(capsys, data, "push", "resend")

    assert none == "ok    push: no message to a customer's server is waiting"
    assert some == (
        "ok    push: no message to a customer's server is waiting, 3 given up (see `tripline push list`);"
        " last error of these: HTTP status 410."
    )
    assert finding().startswith("ok    push: 3 messages to customers' servers are waiting, the oldest for 0 min")
