"""The postman: sends the mail outbox, wakes on new mails, retries failed ones.

A row is deleted after its letter was handed over, so a stopped postman resumes where it was; a letter may then be sent
twice, each with a new link, and only the newest link works. Links are made just before the letter is sent, so tokens
are never stored in waiting mails. Mails that fail for a day or permanently are parked: `tripline doctor` lists them,
and each start of the server retries them once. The mail of an accepted dispute waits for the trip's new score.

On a shared store a process claims each mail before sending, by postponing its due time, so only one process sends it.
"""

import zoneinfo
from typing import Final

from tripline.domain import access
from tripline.domain.access import Action, Reach, Scope, Thing
from tripline.domain.disputes import State
from tripline.domain.ids import UserId
from tripline.domain.instants import DAY_MS
from tripline.domain.refusals import Forbidden, NotFound
from tripline.language.catalogue import Language
from tripline.metrics import MAILS
from tripline.observe import SIGNAL_MAIL_DUE, logger
from tripline.ports.clocks import Clock
from tripline.ports.mails import Letter, LetterRefusedError, Mailer
from tripline.ports.signals import Signals
from tripline.services.accounts import letters, links
from tripline.services.accounts.letters import Recipient
from tripline.services.poll_loop import PollLoop
from tripline.store.accounts import accounts, applications, mail_outbox
from tripline.store.accounts.mail_outbox import NEVER_MS, Mail
from tripline.store.scores import disputes
from tripline.store.transactions import Store, WriteTx
from tripline.store.trips import trips

BATCH: Final = 20
LOOK_S: Final = 5.0
"""Interval of checks for mails that become due by the clock."""
FIRST_PAUSE_MS: Final = 5_000
LONGEST_PAUSE_MS: Final = 3_600_000
PATIENCE_MS: Final = DAY_MS
"""A mail that could not be sent for so long is parked."""
LEASE_MS: Final = 120_000
"""How long a mail is one process's to send; the wait for a mail server is a fraction of it. When that process dies,
another one sends the mail after this time."""
EARLY_MS: Final = 5_000
"""How long a mail rests whose dispute was accepted before the trip is scored anew."""
SCORE_MS: Final = 600_000
"""After this time such a mail is sent without the new score."""

_OWN: Final = frozenset({Reach.SELF})

log = logger("postman")


def pause_ms(attempts: int) -> int:
    """How long a mail rests after it failed for the `attempts`-th time: doubling from 5 seconds to an hour."""
    return min(FIRST_PAUSE_MS << min(attempts - 1, 20), LONGEST_PAUSE_MS)


def next_due_ms(mail: Mail, *, now_ms: int) -> int:
    """When to try again a mail that just failed; `NEVER_MS` when its time is over."""
    if now_ms - mail.created_ms >= PATIENCE_MS:
        return NEVER_MS
    return now_ms + pause_ms(mail.attempts + 1)


class _Early(Exception):  # noqa: N818  never leaves this module
    """The letter's content is not available yet."""


class _Taken(Exception):  # noqa: N818  never leaves this module
    """Another process sends the mail, or has sent it."""


class Postman:
    """Sends waiting mails one after the other."""

    def __init__(
        self,
        *,
        store: Store,
        mailer: Mailer,
        link_hours: float,
        public_url: str,
        zone: zoneinfo.ZoneInfo,
        signals: Signals,
        clock: Clock,
    ) -> None:
        self._store = store
        self._mailer = mailer
        self._link_hours = link_hours
        self._zone = zone
        self._address = public_url.rstrip("/") + links.PATH
        self._clock = clock
        self._poll_loop = PollLoop(signals, SIGNAL_MAIL_DUE, look_s=LOOK_S)
        self._woken = False

    async def run(self) -> None:
        """Send due mails until cancelled; parked ones become due again at the start."""
        await self._poll_loop.run(self._poll, log=log, failed="mail.failed")

    async def send_due(self) -> int:
        """Try each mail of a batch that is due; how many. Raises `Outage` when the store is away."""
        now_ms = self._clock()
        mails = await self._store.read(lambda tx: mail_outbox.due(tx, now_ms=now_ms, limit=BATCH))
        for mail in mails:
            await self._handle(mail)
        return len(mails)

    async def _poll(self) -> int:
        if not self._woken:
            await self._store.write(lambda tx: mail_outbox.wake_parked(tx, now_ms=self._clock()))
            self._woken = True
        return await self.send_due()

    async def _handle(self, mail: Mail) -> None:
        try:
            letter = await self._store.write(lambda tx: self._letter(tx, mail))
        except _Taken:
            return
        except _Early:
            until_ms = self._clock() + EARLY_MS
            await self._store.write(lambda tx: mail_outbox.claim(tx, mail, until_ms=until_ms))
            return
        if letter is not None:
            try:
                await self._mailer.send(letter)
            except LetterRefusedError as refused:
                await self._put_off(mail, refused, due_ms=NEVER_MS)
                return
            except Exception as error:  # noqa: BLE001  one letter's trouble must not hold up the others
                await self._put_off(mail, error, due_ms=next_due_ms(mail, now_ms=self._clock()))
                return
            MAILS.labels("sent").inc()
        await self._store.write(lambda tx: mail_outbox.done(tx, mail.no))

    async def _put_off(self, mail: Mail, error: Exception, *, due_ms: int) -> None:
        # The words of a mail server may hold an address; they stay in the row.
        told = {"kind": mail.kind, "error": type(error).__name__, "attempts": mail.attempts + 1}
        if due_ms == NEVER_MS:
            MAILS.labels("parked").inc()
            log.warning("mail.parked", **told)
        else:
            MAILS.labels("failed").inc()
            log.warning("mail.failed", **told)
        await self._store.write(lambda tx: mail_outbox.postpone(tx, mail, error=str(error), due_ms=due_ms))

    def _letter(self, tx: WriteTx, mail: Mail) -> Letter | None:
        """The letter, with a new link if it needs one; None if it has no recipient. On a shared store it is this
        process's to send for a while. Raises `_Taken`, `_Early`."""
        if tx.shared and not mail_outbox.claim(tx, mail, until_ms=self._clock() + LEASE_MS):
            raise _Taken
        if mail.kind == letters.Kind.RESET:
            return self._reset(tx, mail)
        if mail.kind == letters.Kind.DISPUTE:
            return self._decided(tx, mail)
        if mail.kind == letters.Kind.DRIVER:
            return self._drove(tx, mail)
        application = applications.find(tx, mail.application_id or "")
        if application is None:
            return None
        to = Recipient(mail.recipient, application.contact_name, Language(mail.language))
        if mail.kind == letters.Kind.REJECTED:
            return letters.rejected(to, service=application.service_name, reason=application.reason or "")
        # It may have waited for long, and the account have another address by now: the link is for no other's mail box.
        found = accounts.credentials(tx, mail.recipient)
        if found is None or not found.enabled or found.user_id != mail.account_id:
            return None
        link = self._link(tx, found.user_id)
        return letters.approved(to, service=application.service_name, link=link, hours=self._link_hours)

    def _reset(self, tx: WriteTx, mail: Mail) -> Letter | None:
        # Requested by address; checking here if an account has it cannot be timed from outside.
        found = accounts.credentials(tx, mail.recipient)
        if found is None or not found.enabled:
            return None
        link = self._link(tx, found.user_id)
        to = Recipient(found.email, found.name, Language(mail.language))
        return letters.reset(to, link=link, hours=self._link_hours)

    def _decided(self, tx: WriteTx, mail: Mail) -> Letter | None:
        """None when the account is gone or disabled, or may not read the trip any more. Raises `_Early`."""
        if mail.account_id is None or mail.dispute_id is None:
            return None
        actor, account = accounts.actor(tx, mail.account_id), accounts.own_account(tx, mail.account_id)
        if actor is None or account is None:
            return None
        try:
            known = disputes.inside(tx, access.scope_of(actor, Action.DRIVING_READ), mail.dispute_id)
            # The decision itself ended the opener's access to the trip.
            found = known[0] if known and known[0].state is State.CORRECTED else access.admitted(known, Thing.DISPUTE)
        except (Forbidden, NotFound):
            return None
        if found.state is State.ACCEPTED and found.rescored_ms is None and self._clock() - mail.created_ms < SCORE_MS:
            raise _Early
        to = Recipient(account.email, account.name, Language(account.language or mail.language))
        return letters.decided(found, to, drive=disputes.drive(tx, found.trip_no), zone=self._zone)

    def _drove(self, tx: WriteTx, mail: Mail) -> Letter | None:
        """None when the account is gone or disabled, or is not the trip's driver any more."""
        if mail.account_id is None or mail.trip_id is None:
            return None
        account = accounts.own_account(tx, mail.account_id)
        if account is None or not trips.trip_inside(tx, Scope("mail", _OWN, mail.account_id), mail.trip_id):
            return None
        to = Recipient(account.email, account.name, Language(account.language or mail.language))
        return letters.drove(to, drive=disputes.drive(tx, disputes.trip(tx, mail.trip_id).no), zone=self._zone)

    def _link(self, tx: WriteTx, user_id: UserId) -> str:
        token = links.make(tx, user_id=user_id, hours=self._link_hours, now_ms=self._clock())
        return f"{self._address}?token={token}"
