"""Requests about accounts and lines that collide, sent at once to a running server; a device and a program beside it.

Not here: the fleet (`test_races.py`).
"""

import asyncio
import ssl
import time

import pytest
from tests.support import mail, races, servers
from tests.support.device import CarefulDevice, RefusedError
from tests.support.races import BUSY, GONE, NOBODY, OK, PASSWORD, STATE, TAKEN, Ask, Race, one_wins, winners

pytestmark = pytest.mark.deep

ACTIONS = "/api/carrier/v1/actions"
OTHER = "another long phrase"
RACES = {}


def race(prepare):
    """Run this with the others."""
    RACES[prepare.__name__] = prepare
    return prepare


@pytest.fixture(scope="module")
def track(tmp_path_factory):
    with races.track(tmp_path_factory.mktemp("races")) as new:
        yield new


def log_in(email, password=PASSWORD):
    return Ask(None, "POST", "/api/auth/login", {"username": email, "password": password})


def administrators(t, company):
    return [each["id"]["id"] for each in t.get(f"/company/{company}/admins?limit=9", t.root)["data"]]


def applied(t, email):
    """The id of a new application under review."""
    form = {"serviceName": "S", "companyName": "C", "contactName": "N", "mobile": "010", "introduction": "I"}
    t.good(Ask(None, "POST", "/api/noauth/application", {**form, "email": email}))
    found = t.get("/applications?limit=1&state=SUBMITTED", t.root)["data"]
    return found[0]["id"]["id"]


def decide(t, application, decision, body=None):
    return Ask(t.root, "POST", f"/application/{application}/{decision}", body)


def letters_to(t, email, *, count):
    """The letters to the address, once there are so many."""
    until = time.monotonic() + races.PATIENCE_S
    folder = t.server.data / "mail"
    while len(found := [each for each in mail.in_folder(folder) if each["To"] == email]) < count:
        assert time.monotonic() < until
    return found


@race
def two_last_administrators_delete_each_other(t):
    company, one = t.partner()
    email = t.email()
    two = t.made(f"/company/{company}/admin", races.person_body(email), one)
    its = t.log_in(email)["token"]
    (first,) = set(administrators(t, company)) - {two}
    rivals = [
        Ask(one, "DELETE", f"/company/{company}/admin/{two}"),
        Ask(its, "DELETE", f"/company/{company}/admin/{first}"),
    ]

    def left(answers):
        (winner,) = winners(answers)
        return administrators(t, company), [(first, two)[winner]]

    return Race(rivals, {(OK, each) for each in (STATE, NOBODY)} | {(each, OK) for each in (STATE, NOBODY)}, left)


@race
def platform_deletes_both_administrators(t):
    company, one = t.partner()
    t.made(f"/company/{company}/admin", races.person_body(t.email()), one)
    people = administrators(t, company)
    rivals = [Ask(t.root, "DELETE", f"/company/{company}/admin/{each}") for each in people]

    def left(answers):
        (winner,) = winners(answers)
        return administrators(t, company), [people[1 - winner]]

    return Race(rivals, one_wins(2, STATE), left)


@race
def granted_account_registers_two_companies(t):
    email = t.email()
    application = applied(t, email)
    t.good(decide(t, application, "approve"))
    (letter,) = letters_to(t, email, count=1)
    t.good(Ask(None, "POST", "/api/noauth/setPassword", {"token": token_in(letter), "password": PASSWORD}))
    granted = t.log_in(email)["token"]
    types = [f"type-{t.number()}" for _ in range(2)]
    rivals = [Ask(granted, "POST", "/company", {**races.company_body(email), "serviceType": each}) for each in types]

    def left(answers):
        (winner,) = winners(answers)
        mine = t.get("/company/me", granted)
        return (mine["serviceType"], administrators(t, mine["id"]["id"])), (types[winner], [whoami(t, granted)])

    # Who comes second joins no second company; who comes later yet has a company, and registers its partners only.
    return Race(rivals, one_wins(2, STATE) | one_wins(2, TAKEN), left)


@race
def same_email(t):
    email, driver, application = t.email(), t.person("driver")[0], applied(t, t.email())
    t.good(decide(t, application, "reject", {"reason": "R"}))
    application = applied(t, email)
    rivals = [
        Ask(t.admin, "POST", "/company", races.company_body(email)),
        Ask(t.admin, "POST", "/director", races.person_body(email)),
        Ask(t.admin, "POST", "/driver", races.person_body(email.upper())),
        Ask(t.admin, "PUT", f"/driver/{driver}", {"email": email}),
        Ask(t.admin, "POST", f"/company/{t.operator_id}/admin", races.person_body(email)),
        decide(t, application, "approve"),
    ]

    def left(answers):
        state = t.get(f"/application/{application}", t.root)["state"]
        return state, "APPROVED" if winners(answers) == [5] else "SUBMITTED"

    return Race(rivals, one_wins(6), left)


@race
def approve_and_reject(t):
    email = t.email()
    application = applied(t, email)
    rivals = [*[decide(t, application, "approve")] * 2, *[decide(t, application, "reject", {"reason": "R"})] * 2]

    def left(answers):
        state = t.get(f"/application/{application}", t.root)["state"]
        letters = letters_to(t, email, count=1)
        approved = winners(answers)[0] < 2
        linked = ["set-password" in mail.text_of(each) for each in letters]
        return (state, linked), ("APPROVED" if approved else "REJECTED", [approved])

    return Race(rivals, one_wins(4, STATE), left)


@race
def apply_four_times(t):
    email = t.email()
    form = {"serviceName": "S", "companyName": "C", "contactName": "N", "mobile": "010", "introduction": "I"}
    ask = Ask(None, "POST", "/api/noauth/application", {**form, "email": email})

    def left(_):
        found = t.get("/applications?limit=99&state=SUBMITTED", t.root)["data"]
        return len([each for each in found if each["email"] == email]), 1

    return Race([ask] * 4, {(OK,) * 4}, left)


@race
def one_time_link_used_four_times(t):
    email = t.email()
    t.made("/driver", races.person_body(email))
    t.good(Ask(None, "POST", "/api/noauth/resetPasswordByEmail", {"email": email}))
    (letter,) = letters_to(t, email, count=1)
    passwords = [f"{OTHER} {number}" for number in range(4)]
    rivals = [
        Ask(None, "POST", "/api/noauth/setPassword", {"token": token_in(letter), "password": each})
        for each in passwords
    ]

    def left(answers):
        (winner,) = winners(answers)
        good = [each for each in passwords if t.crowd.one(log_in(email, each)).outcome == OK]
        return good, [passwords[winner]]

    return Race(rivals, one_wins(4), left)


@race
def refresh_token_used_four_times(t):
    email = t.email()
    driver = t.made("/driver", races.person_body(email))
    ask = refresh(t.log_in(email)["refreshToken"])

    def left(answers):
        # Whoever used it second got what the first use got, so that there is one session with one good token.
        again = t.crowd.one(refresh(answers[0].body["refreshToken"])).outcome
        return (sessions(t, driver), again), (1, OK)

    return Race([ask] * 4, {(OK,) * 4}, left)


@race
def refresh_and_change_the_password(t):
    email = t.email()
    driver = t.made("/driver", races.person_body(email))
    pair = t.log_in(email)
    change = {"currentPassword": PASSWORD, "newPassword": OTHER}
    rivals = [refresh(pair["refreshToken"]), Ask(pair["token"], "POST", "/api/auth/changePassword", change)]
    return Race(rivals, {(OK, OK), (NOBODY, OK)}, lambda _: (sessions(t, driver), 0))


@race
def change_the_password_twice(t):
    email = t.email()
    t.made("/driver", races.person_body(email))
    token = t.log_in(email)["token"]
    new = [f"{OTHER} {number}" for number in range(2)]
    rivals = [
        Ask(token, "POST", "/api/auth/changePassword", {"currentPassword": PASSWORD, "newPassword": each})
        for each in new
    ]

    def left(answers):
        good = [each for each in new if t.crowd.one(log_in(email, each)).outcome == OK]
        return good, [new[each] for each in winners(answers)]

    return Race(rivals, one_wins(2), left)


@race
def log_in_and_be_deleted(t):
    email = t.email()
    driver = t.made("/driver", races.person_body(email))
    rivals = [log_in(email), Ask(t.admin, "DELETE", f"/driver/{driver}")]
    return Race(rivals, {(OK, OK), (NOBODY, OK)}, lambda _: (sessions(t, driver), 0), [driver])


@race
def refresh_and_be_deleted(t):
    email = t.email()
    driver = t.made("/driver", races.person_body(email))
    rivals = [refresh(t.log_in(email)["refreshToken"]), Ask(t.admin, "DELETE", f"/driver/{driver}")]
    return Race(rivals, {(OK, OK), (NOBODY, OK)}, lambda _: (sessions(t, driver), 0), [driver])


@race
def set_a_password_and_be_deleted(t):
    email = t.email()
    driver = t.made("/driver", races.person_body(email))
    t.good(Ask(None, "POST", "/api/noauth/resetPasswordByEmail", {"email": email}))
    (letter,) = letters_to(t, email, count=1)
    rivals = [
        Ask(None, "POST", "/api/noauth/setPassword", {"token": token_in(letter), "password": OTHER}),
        Ask(t.admin, "DELETE", f"/driver/{driver}"),
    ]
    return Race(rivals, {(OK, OK), (TAKEN, OK)}, deleted=[driver])


@race
def ask_for_a_link_and_be_deleted(t):
    email = t.email()
    driver = t.made("/driver", races.person_body(email))
    rivals = [
        Ask(None, "POST", "/api/noauth/resetPasswordByEmail", {"email": email}),
        Ask(t.admin, "DELETE", f"/driver/{driver}"),
    ]
    return Race(rivals, {(OK, OK)}, deleted=[driver])


@race
def change_somebody_and_delete_him(t):
    driver = t.made("/driver", races.person_body(t.email()))
    rivals = [
        Ask(t.admin, "PUT", f"/driver/{driver}", {"password": OTHER, "name": "New"}),
        Ask(t.admin, "DELETE", f"/driver/{driver}"),
    ]
    return Race(rivals, {(OK, OK), (GONE, OK)}, deleted=[driver])


@race
def lift_a_pause_four_times(t):
    mdn = paused(t)
    told = {STATE, BUSY}
    allowed = {tuple(OK if each == winner else code for each in range(4)) for winner in range(4) for code in told}
    return Race([unpause(t, mdn)] * 4, allowed, lambda _: (status(t, mdn), "01"))


@race
def lift_a_pause_and_end_the_line(t):
    mdn = paused(t)
    end = act(t, "TERMINATION", mdn=mdn, kind="ORDINARY")
    return Race([unpause(t, mdn), end], {(OK, OK), (GONE, OK)}, lambda _: (t.outcome(f"/sensor?mdn={mdn}"), GONE))


@race
def lift_a_pause_and_delete_the_device(t):
    mdn = paused(t)
    sensor = t.get(f"/sensor?mdn={mdn}")["id"]["id"]
    rivals = [unpause(t, mdn), Ask(t.admin, "DELETE", f"/sensor/{sensor}")]
    # What is deleted while the carrier is asked is unknown afterwards, or nothing that the carrier would lift.
    return Race(
        rivals, {(OK, OK), (GONE, OK), (STATE, OK)}, lambda _: (t.outcome(f"/sensor?mdn={mdn}"), GONE), [sensor]
    )


@race
def suspend_in_three_ways(t):
    mdn = opened(t)
    kinds = {"USE": "02", "DORMANT": "03", "TERMINATION": "04"}
    rivals = [act(t, "SUSPENSION", mdn=mdn, kind=each) for each in kinds]
    return Race(rivals, one_wins(3, STATE), lambda answers: (status(t, mdn), [*kinds.values()][winners(answers)[0]]))


@race
def same_action_four_times(t):
    mdn = opened(t)
    ask = act(t, "SUSPENSION", mdn=mdn, kind="USE")

    def left(answers):
        return (status(t, mdn), [each.body for each in answers]), ("02", [answers[0].body] * 4)

    return Race([ask] * 4, {(OK,) * 4}, left)


@race
def two_lines_take_one_number(t):
    lines, wanted = [opened(t), opened(t)], f"010{t.number():08d}"
    rivals = [act(t, "NUMBER_CHANGE", mdn=each, newMdn=wanted) for each in lines]
    allowed = {(OK, code) for code in (TAKEN, STATE)} | {(code, OK) for code in (TAKEN, STATE)}
    return Race(rivals, allowed, lambda answers: (t.outcome(f"/sensor?mdn={lines[1 - winners(answers)[0]]}"), OK))


@pytest.mark.slow
@pytest.mark.parametrize("name", RACES)
def test_race_leaves_one_consistent_outcome(name, track):
    track.run(RACES[name], rounds=6)


@pytest.mark.slow
def test_token_handed_to_another_sensor_while_its_device_connects_is_one_sensors_at_any_time(track):
    giver, taker = track.sensor(), track.sensor()
    tokens = [track.get(f"/sensor/{each}")["credentialsId"] for each in (giver, taker)]
    tls = ssl.create_default_context(cafile=track.server.ca)
    seen = []

    async def hand_over_and_back():
        async with asyncio.TaskGroup() as tasks:
            stop = asyncio.Event()
            device = tasks.create_task(connects_until(stop, tokens[0], track.server, tls))
            for pair in ((giver, taker), (taker, giver)) * 10:
                await asyncio.to_thread(hand_over, track, pair, tokens[0])
                seen.append([connected(track, each) for each in (giver, taker)])
            stop.set()
        return device.result()

    connections = asyncio.run(hand_over_and_back())

    assert connections > 0
    # After the change was answered, the sensor that gave the token up is not connected by it.
    assert [both[index % 2] for index, both in enumerate(seen)] == [False] * 20


async def connects_until(stop, token, server, tls):
    """Connect again and again; how often the token was good for a message."""
    good = 0
    while not stop.is_set():
        device = CarefulDevice(token, server.device_host, server.device_port, tls)
        try:
            await asyncio.wait_for(device.play([b'{"ty": 600, "ts": 1, "pld": {}}']), races.PATIENCE_S)
            good += 1
        except RefusedError:
            continue
    return good


def hand_over(t, pair, token):
    """The first sensor gets another token, the second gets this one."""
    giver, taker = pair
    t.good(Ask(t.admin, "PUT", f"/sensor/{giver}", {"credentialsId": f"{t.number():020d}"}))
    t.good(Ask(t.admin, "PUT", f"/sensor/{taker}", {"credentialsId": token}))


def connected(t, sensor):
    return t.get(f"/sensor/{sensor}/latest")["connected"]


@pytest.mark.slow
def test_numbers_registered_while_a_program_imports_them_are_each_registered_once(track, tmp_path):
    numbers = [f"I{track.number()}" for _ in range(400)]
    file = tmp_path / "fleet.csv"
    file.write_text("vehicleNo,mileage\n" + "".join(f"{each},1\n" for each in reversed(numbers)))
    data, email = str(track.server.data), track.get("/api/auth/user")["email"]
    flags = ("--data", data, "--email", email, "--skip-bad-rows")

    async def both():
        program = asyncio.to_thread(servers.run, "import", "vehicles", str(file), *flags)
        return await asyncio.gather(program, asyncio.to_thread(register_each, track, numbers))

    done, registered = asyncio.run(both())
    assert "created " in done.stdout, (done.returncode, done.stdout, done.stderr)
    created = int(done.stdout.rsplit("created ", 1)[1])

    assert set(registered) <= {OK, TAKEN}
    assert registered.count(OK) + created == len(numbers)
    assert {track.outcome(f"/vehicle?vehicleNo={each}") for each in numbers} == {OK}


def register_each(t, numbers):
    return [t.crowd.one(Ask(t.admin, "POST", "/vehicle", races.vehicle_body(each))).outcome for each in numbers]


def token_in(letter):
    return mail.link_in(letter).rpartition("token=")[2]


def whoami(t, token):
    return t.get("/api/auth/user", token)["id"]["id"]


def refresh(token):
    return Ask(None, "POST", "/api/auth/token", {"refreshToken": token})


def sessions(t, user):
    """How many refresh sessions the account has, looked up beside the server."""
    ((count,),) = t.rows("SELECT count(*) FROM account_session WHERE user_id = ?", user)
    return count


def act(t, type_, **said):
    return Ask(t.carrier, "POST", ACTIONS, {"actionId": f"action-{t.number()}", "type": type_, **said})


def opened(t):
    """The number of a new line."""
    mdn = f"010{t.number():08d}"
    t.good(act(t, "OPENING", mdn=mdn, imei=f"{t.number():015d}", companyId=t.operator_id, subscription="P"))
    return mdn


def paused(t):
    """The number of a new line whose use is suspended."""
    mdn = opened(t)
    t.good(act(t, "SUSPENSION", mdn=mdn, kind="USE"))
    return mdn


def unpause(t, mdn):
    return Ask(t.admin, "POST", "/api/tre/v1_4/carrier/unpause", {"mdn": mdn})


def status(t, mdn):
    return t.get(f"/sensor?mdn={mdn}")["nwStatus"]
