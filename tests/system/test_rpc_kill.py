"""Power cuts between the steps of a call, of an activation, and of telling customers about them: from what is left it
completes, and nothing is told twice but under the same id.

    asked -> kept -> request sent -> acknowledgement read -> kept -> PUBACK -> caller answered
          -> result read -> kept, mounted, put into the outbox -> PUBACK -> push sent -> status read -> row gone

A step is held up from outside: by the store's write lock, by a device or a customer's server that keeps silent. The
device sends again whatever was not acknowledged.
"""

import contextlib
import itertools
import os
import random
import time
from collections.abc import Iterator, Sequence

import pytest
from tests.support import servers
from tests.support.calling import Box, Script, answering, box
from tests.support.power_cuts import TWOWAY, V1, Asking, Stage, stage
from tests.support.receivers import OK, SILENT, Reply, Request, status

pytestmark = pytest.mark.deep

ABSENT_S = "1.0"
KILLS = int(os.environ.get("TRIPLINE_TESTS_KILLS", "4"))
SEED = int(os.environ.get("TRIPLINE_TESTS_SEED") or random.randrange(10**6))
SUCCESS = {"result": 2000}
ACTIVATION = "activation"
CALL = "call"


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("power")) as play:
        yield play


@pytest.fixture
def play(lasting: Stage) -> Iterator[Stage]:
    """The server of all tests here; each leaves it running and its customer's server well."""
    yield lasting
    lasting.receiver.answer = lambda _: OK


@pytest.fixture
def cases(play: Stage) -> list["Case"]:
    """Both kinds: the same cut hits them."""
    return [Case(play, CALL), Case(play, ACTIVATION)]


@contextlib.contextmanager
def devices_of(play: Stage, cases: Sequence["Case"], script: Script | None = None) -> Iterator[list[Box]]:
    """The device of each."""
    with contextlib.ExitStack() as opened:
        yield [opened.enter_context(box(play.server, case.token, script)) for case in cases]


class Case:
    """A call to a device, or an activation: what is asked, and what there is when it worked."""

    def __init__(self, play: Stage, kind: str) -> None:
        self.play = play
        self.kind = kind
        if kind == ACTIVATION:
            self.sensor_id, self.token, self.vehicle_id = play.pair()
        else:
            one = play.mounted()
            self.sensor_id, self.token, self.vehicle_id = one.sensor_id, one.token, one.vehicle_id

    def ask(self) -> Asking:
        if self.kind == ACTIVATION:
            return Asking(self.play, f"{V1}/sensor/{self.sensor_id}/vehicle/{self.vehicle_id}")
        return Asking(self.play, TWOWAY + self.sensor_id, {"method": "reset"})

    def begun(self, device: Box) -> str:
        """Ask, have it acknowledged, and take the answer; the Request-ID."""
        asking = self.ask()
        request_id, _ = device.request()
        device.settled(device.ack(request_id, SUCCESS))
        answer = asking.end()
        assert answer is not None
        assert answer.status_code == 200, answer.text
        return request_id

    def not_begun(self) -> bool:
        return self.play.company.http.get(f"{V1}/sensor/{self.sensor_id}/rpc/latest").status_code == 404

    def assert_complete(self, request_id: str) -> None:
        """The record tells it all, the sensor is on its vehicle once, and customers heard it once."""
        record = self.play.record(self.sensor_id, "DONE")
        assert (record["id"], record["result"], record["resultCode"]) == ({"id": request_id}, SUCCESS, 2000)
        sensor = self.play.company.get(f"{V1}/sensor/{self.sensor_id}")
        assert (sensor["vehicleId"], sensor["status"]) == ({"id": self.vehicle_id}, "ACTIVATED")
        assert self.play.sensor_count(self.vehicle_id) == 1
        self.play.until_told()
        # A call that the kill took before its device heard of it is told of, too, once its time is over.
        (told,) = (each for each in self.play.told(self.sensor_id) if each["requestId"] == request_id)
        assert told["pld"] == SUCCESS
        assert told["vehicleId"] == self.vehicle_id  # of an activation: told after the mapping was written
        assert self.play.told_verbatim(self.sensor_id) == [b'{"result": 2000}']


def test_kill_before_a_call_is_kept_leaves_nothing_and_the_next_one_works(play, cases):
    with devices_of(play, cases, answering(SUCCESS, SUCCESS)) as devices:
        with play.nothing_written():
            asking = [case.ask() for case in cases]
            for case in (*cases, *cases):
                play.company.get(f"{V1}/sensor/{case.sensor_id}")
        lost = [each.end() for each in asking]
        nothing = [(case.not_begun(), list(device.requests)) for case, device in zip(cases, devices, strict=True)]
        for device in devices:
            device.again()
        answers = [case.ask().end() for case in cases]
        request_ids = [device.request()[0] for device in devices]

    assert lost == [None, None]
    assert nothing == [(True, []), (True, [])]
    assert [answer and answer.status_code for answer in answers] == [200, 200]
    for case, request_id in zip(cases, request_ids, strict=True):
        case.assert_complete(request_id)


def test_kill_between_request_and_acknowledgement_ends_the_call_and_a_late_result_counts_r5(play):
    one = play.mounted()

    def cut(device: Box, request_id: str, _: bytes) -> None:
        play.server.process.kill()

    with box(play.server, one.token, cut) as device:
        asking = Asking(play, TWOWAY + one.sensor_id, {"method": "reset", "timeout": 1000})
        request_id, _ = device.request()
        assert asking.end() is None
        play.kill()
        timed_out = play.record(one.sensor_id, "TIMEOUT")
        device.again()
        device.settled(device.result(request_id, SUCCESS))
    done = play.record(one.sensor_id, "DONE")
    play.until_told()

    assert (timed_out["resultCode"], done["resultCode"], done["id"]) == (5001, 2000, {"id": request_id})
    assert play.told_of(one.sensor_id) == [{"result": 5001}, SUCCESS]
    assert play.told_verbatim(one.sensor_id) == [b'{"result": 2000}']


def test_kill_while_an_activation_is_not_acknowledged_leaves_it_to_be_asked_for_again(play):
    case = Case(play, ACTIVATION)
    with box(play.server, case.token) as device:
        case.ask()
        former, _ = device.request()
        play.kill()
        device.again()
        case.ask()
        newer, _ = device.request(1)
        device.settled(device.result(former, SUCCESS))
        superseded = play.company.get(f"{V1}/sensor/{case.sensor_id}")["status"]
        device.settled(device.result(newer, SUCCESS))

    assert superseded == "DEACTIVATED"
    assert play.company.get(f"{V1}/sensor/{case.sensor_id}")["vehicleId"] == {"id": case.vehicle_id}
    assert play.sensor_count(case.vehicle_id) == 1
    play.until_told()
    assert [told["requestId"] for told in play.told(case.sensor_id)] == [former, newer]


def test_kill_between_acknowledgement_read_and_kept_has_it_sent_again(play, cases):
    with devices_of(play, cases) as devices:
        asking = [case.ask() for case in cases]
        request_ids = [device.request()[0] for device in devices]
        each = list(zip(devices, request_ids, strict=True))
        with play.nothing_written():
            packet_ids = [device.ack(request_id, {"result": 2001}) for device, request_id in each]
            for device in devices:
                device.taken()
        lost = [one.end() for one in asking]
        for device, packet_id in zip(devices, packet_ids, strict=True):
            device.again()
            device.settled(packet_id)
        acknowledged = [play.record(case.sensor_id, "ACKED") for case in cases]
        for device, request_id in each:
            device.settled(device.result(request_id, SUCCESS))

    assert lost == [None, None]
    for case, record, request_id in zip(cases, acknowledged, request_ids, strict=True):
        assert (record["id"], record["response"]) == ({"id": request_id}, {"result": 2001})
        case.assert_complete(request_id)


def test_kill_once_the_acknowledgement_is_kept_leaves_it_in_the_record(play, cases):
    with devices_of(play, cases) as devices:
        asking = [case.ask() for case in cases]
        request_ids = [device.request()[0] for device in devices]
        each = list(zip(devices, request_ids, strict=True))
        for device, request_id in each:
            device.settled(device.ack(request_id, {"result": 2001}))
        play.kill()
        answers = [one.end() for one in asking]  # whether they were still given is chance
        acknowledged = [play.record(case.sensor_id, "ACKED") for case in cases]
        for device, request_id in each:
            device.again()
            device.settled(device.ack(request_id, {"result": 2002}))  # as if PUBACK had been lost, and more: R3
            device.settled(device.result(request_id, SUCCESS))

    assert all(answer is None or answer.json()["response"] == {"result": 2001} for answer in answers)
    assert [record["response"] for record in acknowledged] == [{"result": 2001}] * 2
    for case, request_id in zip(cases, request_ids, strict=True):
        assert play.record(case.sensor_id, "DONE")["response"] == {"result": 2001}
        case.assert_complete(request_id)


def test_kill_between_acknowledgement_and_result_completes_the_call(play, cases):
    with devices_of(play, cases) as devices:
        request_ids = [case.begun(device) for case, device in zip(cases, devices, strict=True)]
        play.kill()
        for device, request_id in zip(devices, request_ids, strict=True):
            device.again()
            device.settled(device.result(request_id, SUCCESS))

    for case, request_id in zip(cases, request_ids, strict=True):
        case.assert_complete(request_id)


def test_kill_between_result_read_and_kept_has_it_sent_again(play, cases):
    with devices_of(play, cases) as devices:
        request_ids = [case.begun(device) for case, device in zip(cases, devices, strict=True)]
        with play.nothing_written():
            packet_ids = [device.result(each, SUCCESS) for device, each in zip(devices, request_ids, strict=True)]
            for device in devices:
                device.taken()
        for device, packet_id in zip(devices, packet_ids, strict=True):
            device.again()
            device.settled(packet_id)

    for case, request_id in zip(cases, request_ids, strict=True):
        case.assert_complete(request_id)


def test_kill_once_the_result_is_kept_and_before_it_is_pushed_pushes_it(play, cases):
    busy = Case(play, CALL)
    play.cut()
    play.start(TRIPLINE_PUSH_AT_ONCE="1", TRIPLINE_PUSH_TIMEOUT_S="60")
    play.receiver.answer = lambda _: SILENT
    with box(play.server, busy.token) as other, devices_of(play, cases) as devices:
        former = len(play.receiver.requests)
        held_id = busy.begun(other)
        other.settled(other.result(held_id, SUCCESS))
        play.until(lambda: len(play.receiver.requests) > former)  # the only request there may be: it hangs
        request_ids = [case.begun(device) for case, device in zip(cases, devices, strict=True)]
        each = list(zip(devices, request_ids, strict=True))
        for device, request_id in each:
            device.settled(device.result(request_id, SUCCESS))
        play.cut()
        sent = [(play.requests_about(case.sensor_id), play.told_verbatim(case.sensor_id)) for case in cases]
        play.receiver.answer = lambda _: OK
        play.start()
        for device, request_id in each:
            device.again()
            device.settled(device.result(request_id, SUCCESS))  # as if PUBACK had been lost

    assert sent == [([], []), ([], [])]
    for case, request_id in zip(cases, request_ids, strict=True):
        case.assert_complete(request_id)
    assert play.told_of(busy.sensor_id) == [SUCCESS]


def test_kill_between_push_and_its_answer_pushes_again_under_the_same_id(play, cases):
    play.receiver.answer = lambda _: SILENT
    with devices_of(play, cases) as devices:
        request_ids = [case.begun(device) for case, device in zip(cases, devices, strict=True)]
        for case, device, request_id in zip(cases, devices, request_ids, strict=True):
            device.settled(device.result(request_id, SUCCESS))
            play.until(
                lambda case=case: bool(play.requests_about(case.sensor_id) and play.told_verbatim(case.sensor_id))
            )
    play.cut()
    play.receiver.answer = lambda _: OK
    play.start()

    for case, request_id in zip(cases, request_ids, strict=True):
        case.assert_complete(request_id)
        assert len({request.id for request in play.requests_about(case.sensor_id)}) == 1
        assert len(play.requests_about(case.sensor_id)) == 2


@pytest.mark.parametrize(("answer", "outcome"), [(200, "delivered"), (503, "failed"), (410, "parked")])
def test_kill_between_answer_and_its_being_written_down_pushes_again_under_the_same_id(play, answer, outcome):
    case = Case(play, CALL)
    with box(play.server, case.token) as device:
        request_id = case.begun(device)
        before = play.delivered(outcome)
        with play.writing_held_up() as lock:

            def reply(_: Request) -> Reply:
                lock.take()
                return Reply(status(answer))

            play.receiver.answer = reply
            device.settled(device.result(request_id, SUCCESS))
            # The result in its envelope, and as the device sent it.
            play.until(lambda: play.delivered(outcome) == before + 2)
        play.receiver.answer = lambda _: OK
        play.start()

    case.assert_complete(request_id)
    assert len(play.requests_about(case.sensor_id)) == 2


def test_kill_after_giving_up_and_after_sending_again_was_asked_for_pushes_under_the_same_id(play):
    case = Case(play, CALL)
    play.receiver.answer = lambda _: Reply(status(410))
    with box(play.server, case.token) as device:
        request_id = case.begun(device)
        device.settled(device.result(request_id, SUCCESS))
    play.until_told()
    play.kill()
    listed = servers.run("push", "list", "--data", str(play.data)).stdout
    ids = [line.split()[2] for line in listed.splitlines() if case.sensor_id in line]
    play.receiver.answer = lambda _: SILENT
    asked = len(play.receiver.requests)
    assert servers.run_here("push", "resend", "--data", str(play.data)).returncode == 0
    play.until(lambda: len(play.receiver.requests) == asked + 2)
    play.cut()
    play.receiver.answer = lambda _: OK
    play.start()

    case.assert_complete(request_id)
    assert len(ids) == 2
    assert {request.id for request in play.requests_about(case.sensor_id)} < set(ids)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kill_at_random_moments_of_calls_and_activations_completes_each_once(play):
    moments = random.Random(SEED)
    print(f"seed {SEED}")
    for _ in range(KILLS):
        cases = [Case(play, kind) for kind in (CALL, ACTIVATION, CALL, ACTIVATION)]
        play.receiver.answer = lambda _: Reply(status(200 if moments.random() < 0.8 else 503))
        boxes = [Box(play.server, case.token, answering(SUCCESS, SUCCESS)) for case in cases]
        asked = [case.ask() for case in cases]
        time.sleep(moments.uniform(0, 0.15))  # the moment is the point, not a wait for something
        play.kill()
        play.receiver.answer = lambda _: OK
        for case, device, asking in zip(cases, boxes, asked, strict=True):
            asking.end()
            device.again()
            if not device.requests:  # the cut came before the device heard of it: a person asks again
                assert case.ask().end() is not None
        ends = [device.request()[0] for device in boxes]
        for case, device, request_id in zip(cases, boxes, ends, strict=True):
            device.settled(device.result(request_id, SUCCESS))  # and once more, as if PUBACK had been lost
            device.close()
            play.until_told()
            case.assert_complete(request_id)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kill_while_devices_come_and_go_tells_in_the_end_who_is_there(tmp_path):
    moments = random.Random(SEED)
    print(f"seed {SEED}")
    with stage(tmp_path, wanted="500", TRIPLINE_PUSH_ABSENT_S=ABSENT_S) as play:
        stays, goes, flaps = (play.mounted() for _ in range(3))
        staying = Box(play.server, stays.token)
        came = Box(play.server, goes.token)
        play.until(lambda: _newest(play, goes.sensor_id) is True)  # whoever leaves before that is told to nobody
        came.close()
        for round_no in range(KILLS):
            going = Box(play.server, goes.token)
            if round_no % 2:
                going.close()
            flapping = [Box(play.server, flaps.token) for _ in range(2)]  # the second one takes over
            time.sleep(moments.uniform(0, 0.3))  # the moment is the point, not a wait for something
            play.kill()
            staying.again()
            for device in (going, *flapping):
                device.close()
        last = Box(play.server, flaps.token)
        truth = {stays.sensor_id: True, goes.sensor_id: False, flaps.sensor_id: True}
        play.until(lambda: {each: _newest(play, each) for each in truth} == truth)
        time.sleep(2 * float(ABSENT_S))  # nothing else comes once the time of being away is over
        play.until_told()
        said = {each: [told["pld"]["connected"] for told in play.told(each, "CONNECTION")] for each in truth}
        staying.close()
        last.close()

    assert {sensor_id: told[-1] for sensor_id, told in said.items()} == truth
    for told in said.values():
        assert all(one != other for one, other in itertools.pairwise(told))
        assert told[0] is True


def _newest(play: Stage, sensor_id: str) -> bool | None:
    told = play.told(sensor_id, "CONNECTION")
    return told[-1]["pld"]["connected"] if told else None
