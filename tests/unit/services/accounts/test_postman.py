"""The postman: what is sent, when it is tried again, and when it gives up."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import delete, select, update
from tests.support import accounts, stores
from tests.support import rest as support
from tests.support.rest import Rest
from tests.support.scoring_rows import ZONE

from tripline import observe
from tripline.adapters.signals.local import LocalSignals
from tripline.domain.access import Authority
from tripline.domain.disputes import Dispute, Disputed, Reason, State
from tripline.domain.ids import TimeIds, UserId, first_no
from tripline.language.catalogue import Language
from tripline.ports.mails import Letter, LetterRefusedError
from tripline.ports.outages import Outage
from tripline.scoring.rules import EventType
from tripline.services.accounts import letters, postman, registry
from tripline.services.accounts.letters import Recipient
from tripline.services.accounts.postman import PATIENCE_MS, Postman, pause_ms
from tripline.services.accounts.sweeper import PARKED_MS, Sweeper
from tripline.store.accounts import mail_outbox
from tripline.store.accounts.mail_outbox import NEVER_MS
from tripline.store.scores.disputes import Drive
from tripline.store.tables import account, account_link, account_session
from tripline.store.transactions import WriteTx

EMAIL = "kim@fleet.example"


class Box:
    """Implements `ports.mails.Mailer`: keeps letters, or raises what it is told."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self.trouble: dict[str, Exception] = {}
        self.arrived = asyncio.Event()

    async def send(self, letter: Letter) -> None:
        """Keep the letter."""
        if letter.recipient in self.trouble:
            raise self.trouble[letter.recipient]
        self.letters.append(letter)
        self.arrived.set()


class World:
    """A postman over a store, with a clock that stands still."""

    def __init__(self, rest: Rest) -> None:
        self.rest = rest
        self.box = Box()
        self.signals = LocalSignals()
        self.postman = Postman(
            store=rest.store,
            mailer=self.box,
            link_hours=24,
            public_url="https://fleet.example/",
            zone=ZONE,
            signals=self.signals,
            clock=lambda: rest.now_ms,
        )

    async def account(self, email: str = EMAIL) -> UserId:
        return await self.rest.store.write(
            lambda tx: registry.create_alone(
                tx, Authority.COMPANY_ADMIN, email=email, password_hash="h", ids=self.rest.ids, now_ms=self.rest.now_ms
            )
        )

    async def ask(self, email: str = EMAIL) -> None:
        now_ms = self.rest.now_ms
        await self.rest.store.write(
            lambda tx: mail_outbox.add(tx, ids=self.rest.ids, kind=letters.Kind.RESET, recipient=email, now_ms=now_ms)
        )

    async def rows(self) -> list[tuple[int, str | None, int]]:
        """Attempts, last error, and when it is due from now, ms."""
        found = await self.rest.store.read(lambda tx: mail_outbox.due(tx, now_ms=NEVER_MS, limit=99))
        return [(mail.attempts, mail.last_error, mail.due_ms - self.rest.now_ms) for mail in found]

    async def links(self) -> int:
        return len(await self.rest.store.read(lambda tx: tx.all(select(account_link.c.token_hash))))


@pytest.fixture
async def world(app: Rest) -> World:
    return World(app)


@pytest.mark.sqlite("programs beside each other without slots")
async def test_mail_goes_behind_one_that_a_clock_ahead_of_ours_has_numbered(world):
    def numbered(tx: WriteTx) -> list[int]:
        for after_ms in (900, 900, 20, 1_000):
            # Each with a maker of its own, as programs beside each other have.
            maker = TimeIds(node=1)
            mail_outbox.add(tx, ids=maker, kind=letters.Kind.RESET, recipient=EMAIL, now_ms=after_ms)
        return [mail.no for mail in mail_outbox.due(tx, now_ms=1_000, limit=9)]

    at_900 = first_no(900)
    # By the time due; the third has the smallest one.

    assert await world.rest.store.write(numbered) == [at_900 + 2, at_900, at_900 + 1, first_no(1_000)]


async def test_sent_mail_leaves_the_outbox_and_its_link_is_kept_as_a_hash(world, tmp_path):
    await world.account()
    await world.ask(" KIM@fleet.example")
    tried = await world.postman.send_due()
    (letter,) = world.box.letters
    token = letter.text.partition("token=")[2].split()[0]
    in_clear = token.encode() in stores.Database(tmp_path).everything()
    rows, kept = await world.rows(), await world.links()

    link = f"https://fleet.example/account/set-password?token={token}"
    assert letter == letters.reset(Recipient(EMAIL, EMAIL, Language.ENGLISH), link=link, hours=24)
    assert len(token) == 43
    assert (tried, in_clear, rows, kept) == (1, False, [], 1)


async def test_mail_to_nobody_goes_without_a_letter(world):
    await world.ask("nobody@fleet.example")
    tried = await world.postman.send_due()

    assert (tried, world.box.letters, await world.rows()) == (1, [], [])


async def test_mail_to_an_account_that_is_gone_or_disabled_goes_without_a_letter(world):
    user_id = await world.account()
    await world.ask()
    await world.rest.store.write(lambda tx: tx.run(delete(account).where(account.c.id == user_id)))
    await world.postman.send_due()

    assert (world.box.letters, await world.rows()) == ([], [])


@pytest.mark.parametrize(("moved", "sent"), [(False, 1), (True, 0)])
async def test_mail_of_an_approval_goes_to_the_accounts_own_address_alone(world, moved, sent):
    form = dict.fromkeys(("serviceName", "companyName", "contactName", "mobile", "introduction"), "A")

    rest = world.rest
    root = await rest.account("root@x.example", Authority.SYS_ADMIN)
    await rest.post(None, "/api/noauth/application", {**form, "email": EMAIL})
    (applied,) = (await rest.get(root, "/applications", limit=1))["data"]
    await rest.post(root, f"/application/{applied['id']['id']}/approve")
    new = {"email": "new@fleet.example", "login": "new@fleet.example"}
    if moved:
        await rest.store.write(lambda tx: tx.run(update(account).where(account.c.email == EMAIL).values(**new)))
    await world.postman.send_due()

    assert (len(world.box.letters), await world.links()) == (sent, sent)


async def test_failed_mail_rests_longer_each_time_and_is_parked_after_a_day(world):
    await world.account()
    await world.ask()
    world.box.trouble[EMAIL] = Outage("the server is away")
    seen = []
    while not seen or seen[-1][2] <= PATIENCE_MS:
        await world.postman.send_due()
        seen += await world.rows()
        world.rest.now_ms += seen[-1][2]

    assert {error for _, error, _ in seen} == {"the server is away"}
    assert [attempts for attempts, *_ in seen] == list(range(1, len(seen) + 1))
    pauses = [pause for *_, pause in seen[:-1]]
    assert pauses[:4] == [5_000, 10_000, 20_000, 40_000]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 3_600_000
    assert PATIENCE_MS <= sum(pauses) < PATIENCE_MS + 3_600_000


@pytest.mark.parametrize(("attempts", "expected"), [(1, 5_000), (2, 10_000), (10, 2_560_000), (11, 3_600_000)])
def test_pause_doubles_up_to_an_hour(attempts, expected):
    assert pause_ms(attempts) == expected
    assert pause_ms(10_000) == 3_600_000


async def test_refused_letter_is_parked_at_once_and_holds_up_no_other(world):
    for email in ("bad@x.example", "bug@x.example", "good@x.example"):
        await world.account(email)
        await world.ask(email)
    world.box.trouble = {"bad@x.example": LetterRefusedError("no such user"), "bug@x.example": ValueError("bug")}
    await world.postman.send_due()
    waiting = await world.rest.store.read(mail_outbox.waiting)

    assert [letter.recipient for letter in world.box.letters] == ["good@x.example"]
    assert await world.rows() == [(1, "bug", 5_000), (1, "no such user", NEVER_MS - support.NOW_MS)]
    assert waiting == mail_outbox.Waiting(1, 1, "bug")


async def test_long_error_is_cut(world):
    await world.account()
    await world.ask()
    world.box.trouble[EMAIL] = Outage("x" * 10_000)
    await world.postman.send_due()

    assert await world.rows() == [(1, "x" * 255, 5_000)]


async def test_each_try_makes_a_new_link_and_only_the_newest_stays(world):
    await world.account()
    for _ in range(3):
        await world.ask()
    await world.postman.send_due()

    assert (len({letter.text for letter in world.box.letters}), await world.links()) == (3, 1)


async def test_start_tries_parked_mails_once_more_and_a_hint_wakes(world):
    await world.account()
    await world.ask()
    world.box.trouble[EMAIL] = LetterRefusedError("wrong sender")
    await world.postman.send_due()
    world.box.trouble.clear()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(world.postman.run())
        await world.box.arrived.wait()
        world.box.arrived.clear()
        await world.account("lee@x.example")
        await world.ask("lee@x.example")
        world.signals.notify(observe.SIGNAL_MAIL_DUE)
        async with asyncio.timeout(postman.LOOK_S / 2):
            await world.box.arrived.wait()
        running.cancel()

    assert [letter.recipient for letter in world.box.letters] == [EMAIL, "lee@x.example"]


async def test_sweeper_forgets_what_has_expired_and_nothing_else(world):
    rest = world.rest
    await accounts.with_password(rest, EMAIL, "pass")
    sweeper = Sweeper(store=rest.store, clock=lambda: rest.now_ms, history_days=1)

    async def counts() -> tuple[int, int, int]:
        sessions = await rest.store.read(lambda tx: tx.all(select(account_session.c.id)))
        return len(sessions), await world.links(), len(await world.rows())

    await rest.post(None, "/api/auth/login", {"username": EMAIL, "password": "pass"})
    await world.ask()
    await world.postman.send_due()
    await world.ask()
    world.box.trouble[EMAIL] = LetterRefusedError("no")
    await world.postman.send_due()
    seen = []
    start_ms = rest.now_ms
    for at_ms in (86_399_999, 86_400_000, 604_799_999, 604_800_000, PARKED_MS, PARKED_MS + 1):
        rest.now_ms = start_ms + at_ms
        await sweeper.sweep()
        seen.append(await counts())

    assert tuple(seen) == ((1, 1, 1), (1, 0, 1), (1, 0, 1), (0, 0, 1), (0, 0, 1), (0, 0, 0))


def test_letters_say_what_to_do_in_plain_words():
    to = Recipient(EMAIL, "김하늘", Language.ENGLISH)

    approved = letters.approved(to, service="택시", link="https://x/1", hours=24)
    rejected = letters.rejected(to, service="택시", reason="No\nanswer")
    reset = letters.reset(to, link="https://x/2", hours=1)

    assert "김하늘" in approved.text
    assert "\n\nhttps://x/1\n\nThe link works once, within 24 hours" in approved.text
    assert "The reason:\n\nNo\nanswer\n\n" in rejected.text
    assert "\n\nhttps://x/2\n\nThe link works once, within 1 hour;" in reset.text
    assert "your password stays the same" in reset.text


def test_letters_say_the_same_in_korean():
    to = Recipient(EMAIL, "김하늘", Language.KOREAN)

    approved = letters.approved(to, service="택시", link="https://x/1", hours=24)
    rejected = letters.rejected(to, service="택시", reason="No\nanswer")
    reset = letters.reset(to, link="https://x/2", hours=1)

    assert [each.subject for each in (approved, rejected, reset)] == [
        "서비스 계정이 준비되었습니다",
        "서비스 신청이 승인되지 않았습니다",
        "새 비밀번호 설정",
    ]
    assert approved.text.startswith("김하늘 님, 안녕하십니까?\n\n택시 서비스 신청이 승인되었습니다.")
    assert "\n\nhttps://x/1\n\n링크는 24시간 안에 한 번만" in approved.text
    assert "사유는 다음과 같습니다.\n\nNo\nanswer\n\n" in rejected.text
    assert "\n\nhttps://x/2\n\n링크는 1시간 안에 한 번만" in reset.text
    assert "비밀번호는 바뀌지 않습니다." in reset.text


CONTESTED = Disputed("e", 3, 1_735_689_610_000, "de_accel", 1_735_689_609_000, 1_735_689_611_000)


def decided(language: Language, *, state: State, event: Disputed | None = CONTESTED, **kept: Any) -> Letter:
    """The letter of a dispute about a drive of New Year's morning in Seoul."""
    told = {"id": "d", "created_ms": 1, "company_id": "c", "trip_no": 1, "trip_id": "t", "vehicle_id": "v"}
    told |= {"driver_id": "u", "opened_by": "u", "reason": Reason.OTHER, "text": "Not {I}.", "event": event}
    return letters.decided(
        Dispute(**{**told, "state": state, **kept}),
        Recipient(EMAIL, "김하늘", language),
        drive=Drive(1_735_689_600_000, "12가3456"),
        zone=ZONE,
    )


def test_letter_of_a_decision_says_what_became_of_what_in_english():
    scored: dict[str, Any] = {"score_before": 61.24, "score_after": 74.26, "rescored_ms": 9}
    accepted = decided(Language.ENGLISH, state=State.ACCEPTED, answer="Seen {it}.", **scored)
    rejected = decided(Language.ENGLISH, state=State.REJECTED, answer="No\nchild", event=None, score_before=61.24)

    assert accepted == Letter(
        EMAIL,
        "Your dispute was accepted",
        "Hello 김하늘,\n\nyour dispute was accepted. The disputed trip or event no longer counts.\n\n"
        "Trip of 2025-01-01 09:00:00 (Asia/Seoul)\nVehicle: 12가3456\n"
        "Disputed: harsh deceleration at 2025-01-01 09:00:10 (Asia/Seoul)\n"
        "Score of the trip: 61.2 before, 74.3 now\n\nThe reason:\n\nSeen {it}.\n",
    )
    assert rejected == Letter(
        EMAIL,
        "Your dispute was rejected",
        "Hello 김하늘,\n\nyour dispute was rejected. The disputed trip or event still counts.\n\n"
        "Trip of 2025-01-01 09:00:00 (Asia/Seoul)\nVehicle: 12가3456\n"
        "Disputed: the whole trip\n\nThe reason:\n\nNo\nchild\n",
    )


def test_letter_of_a_decision_says_the_same_in_korean():
    scored: dict[str, Any] = {"score_before": 61.24, "score_after": 74.26, "rescored_ms": 9}
    accepted = decided(Language.KOREAN, state=State.ACCEPTED, **scored)
    rejected = decided(Language.KOREAN, state=State.REJECTED, answer="영상에 없음", event=None)

    assert accepted == Letter(
        EMAIL,
        "이의 제기가 받아들여졌습니다",
        "김하늘 님, 안녕하십니까?\n\n"
        "제기하신 이의가 받아들여졌습니다. 해당 내용은 더 이상 점수에 반영되지 않습니다.\n\n"
        "운행 시작: 2025-01-01 09:00:00 (Asia/Seoul)\n차량번호: 12가3456\n"
        "이의 제기 대상: 급감속, 2025-01-01 09:00:10 (Asia/Seoul)\n운행 점수: 이전 61.2, 현재 74.3\n",
    )
    assert rejected == Letter(
        EMAIL,
        "이의 제기가 받아들여지지 않았습니다",
        "김하늘 님, 안녕하십니까?\n\n제기하신 이의가 받아들여지지 않았습니다. 해당 내용은 계속 점수에 반영됩니다.\n\n"
        "운행 시작: 2025-01-01 09:00:00 (Asia/Seoul)\n차량번호: 12가3456\n"
        "이의 제기 대상: 운행 전체\n\n사유는 다음과 같습니다.\n\n영상에 없음\n",
    )


@pytest.mark.parametrize(
    ("kept", "line"),
    [
        ({"score_before": 61.2, "score_after": 61.2, "rescored_ms": 9}, None),
        ({"score_before": 61.2, "rescored_ms": 9}, "Score of the trip: 61.2 before, none now"),
        ({"score_before": 61.2}, "Score of the trip: 61.2 before, not scored anew yet"),
        ({"rescored_ms": 9}, None),
    ],
)
def test_letter_of_a_decision_tells_scores_where_they_changed(kept, line):
    lines = decided(Language.ENGLISH, state=State.ACCEPTED, **kept).text.splitlines()

    assert [each for each in lines if "Score" in each] == ([] if line is None else [line])


@pytest.mark.parametrize("event_type", list(EventType))
@pytest.mark.parametrize("language", list(Language))
def test_letter_of_a_decision_names_each_type_of_event(language, event_type):
    event = replace(CONTESTED, event_type=int(event_type))
    named = decided(language, state=State.ACCEPTED, event=event).text
    others = {
        decided(language, state=State.ACCEPTED, event=replace(CONTESTED, event_type=int(each))).text
        for each in EventType
        if each is not event_type
    }

    assert "2025-01-01 09:00:10" in named
    assert len(others) == len(EventType) - 1
    assert named not in others


@pytest.mark.parametrize(("language", "subject"), [("ko,en;q=0.5", "새 비밀번호 설정"), (None, "Set a new password")])
async def test_mail_is_in_the_language_of_the_request_that_caused_it(world, language, subject):
    await world.account()
    headers = {} if language is None else {"accept-language": language}
    await world.rest.http.post("/api/noauth/resetPasswordByEmail", json={"email": EMAIL}, headers=headers)
    await world.postman.send_due()

    assert [letter.subject for letter in world.box.letters] == [subject]
