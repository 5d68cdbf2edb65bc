"""Addresses that a customer's server may have."""

import asyncio
import threading

import pytest
from tests.support.receivers import PRIVATE

from tripline.adapters.webhooks import addresses
from tripline.adapters.webhooks.addresses import ADDRESSES_MAX, LOOKUPS_MAX, AddressGuard, is_public
from tripline.ports.webhooks import WebhookFailedError


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.255",
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "224.0.1.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:100.64.0.1",
        "::ffff:224.0.1.1",
        "fe80::1",
        "fe80::1%2",
        "febf::1",
        "fec0::1",
        "fc00::1",
        "fdff::1",
        "ff02::1",
        "ff0e::1",
        "2001:db8::1",
        "2001::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2002:c0a8:101::1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2606:4700::5efe:7f00:1",
        "2606:4700::200:5efe:a00:1",
        "100::1",
        "no address",
        "",
    ],
)
def test_address_of_no_public_machine_is_refused(address):
    assert is_public(address) is False


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.1",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "192.169.0.0",
        "223.255.255.255",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
        "2606:4700:4700::1111",
    ],
)
def test_address_of_a_public_machine_is_let_pass(address):
    assert is_public(address) is True


def found(resolve, *, allow_private=False, host="push.example", times=1):
    async def scenario():
        guard = AddressGuard(allow_private=allow_private, resolve=resolve)
        return [await guard.addresses(host) for _ in range(times)]

    return asyncio.run(scenario())


def refused(resolve, **settings):
    with pytest.raises(WebhookFailedError) as failed:
        found(resolve, **settings)
    return str(failed.value)


def test_every_address_is_looked_at():
    public = ["8.8.8.8", "1.1.1.1"]

    assert found(lambda _: public) == [tuple(public)]
    assert refused(lambda _: [*public, "10.0.0.1"]) == PRIVATE
    assert found(lambda _: [*public, "10.0.0.1"], allow_private=True) == [(*public, "10.0.0.1")]


@pytest.mark.parametrize(("count", "well"), [(0, False), (1, True), (ADDRESSES_MAX, True), (ADDRESSES_MAX + 1, False)])
def test_name_has_at_least_one_address_and_not_too_many(count, well):
    many = [f"8.8.8.{number}" for number in range(count)]

    if well:
        assert found(lambda _: many) == [tuple(many)]
    else:
        assert refused(lambda _: many) == "The host name has no addresses, or too many."


def test_name_is_looked_up_once_in_a_while():
    asked = []

    def resolve(host):
        asked.append(host)
        return ["8.8.8.8"]

    assert found(resolve, times=3) == [("8.8.8.8",)] * 3
    assert asked == ["push.example"]


def test_address_is_not_looked_up():
    assert found(lambda _: 1 / 0, host="8.8.8.8") == [("8.8.8.8",)]


def test_name_that_is_unknown_fails():
    def resolve(_):
        raise OSError

    assert refused(resolve) == "The host name could not be resolved."


def test_name_that_cannot_be_looked_up_for_a_moment_keeps_what_it_had(monkeypatch):
    answers = [["8.8.8.8"], OSError()]

    def resolve(_):
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(addresses, "FRESH_S", 0.0)

    assert found(resolve, times=2) == [("8.8.8.8",)] * 2


async def test_look_ups_under_way_are_bounded_and_those_of_one_name_are_one():
    go_on = threading.Event()
    asked = []

    def resolve(host):
        asked.append(host)
        go_on.wait(10)
        return ["8.8.8.8"]

    guard = AddressGuard(allow_private=False, resolve=resolve)
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(guard.addresses(f"n{number % LOOKUPS_MAX}")) for number in range(100)]
        await asyncio.sleep(0)
        with pytest.raises(WebhookFailedError):
            await guard.addresses("one more")
        go_on.set()

    assert (len(asked), {task.result() for task in waiting}) == (LOOKUPS_MAX, {("8.8.8.8",)})
