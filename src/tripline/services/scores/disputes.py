"""Open, decide and withdraw disputes about events and trips, and preview the score of an accepted one."""

import asyncio
import contextlib
import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from tripline.domain import access
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.corrections import SeenDriver
from tripline.domain.disputes import (
    NEXT,
    OF_TRIP,
    AlreadyDisputed,
    Cause,
    Dispute,
    Disputed,
    NotOpen,
    OwnDispute,
    Reason,
    State,
    TooManyDisputes,
)
from tripline.domain.ids import CompanyId, TimeIds, TripId, UserId
from tripline.domain.refusals import BadParameter, Forbidden
from tripline.language.catalogue import Language
from tripline.later import Later
from tripline.ports.clocks import Clock
from tripline.ports.maps import RoadMatcher
from tripline.scoring.covers import Interval
from tripline.scoring.rules import EventType
from tripline.scoring.score import COUNTED
from tripline.services import admission, notifications
from tripline.services.accounts import letters
from tripline.services.push import notices
from tripline.services.scores import corrections, reads
from tripline.store.accounts import accounts, mail_outbox
from tripline.store.lists import Span
from tripline.store.scores import disputes, rescore, scores
from tripline.store.scores import reads as score_reads
from tripline.store.scores.disputes import Annulled, Event, OwnedTrip
from tripline.store.transactions import ReadTx, Store, WriteTx

if TYPE_CHECKING:
    from tripline.services.scores import explanation
else:
    # It imports numpy, which a process needs only once an event is disputed.
    explanation = Later("tripline.services.scores.explanation")

CHANGED: Final = (*notifications.SCORING_DUE, *notifications.PUSH_DUE, *notifications.MAIL_DUE)
"""Notifications to send after a dispute is opened or closed and committed."""
_STANDING: Final = (State.OPEN, State.ACCEPTED)


class DisputeService:
    """One for each process."""

    def __init__(self, *, store: Store, ids: TimeIds, clock: Clock, roads: RoadMatcher | None = None) -> None:
        """`roads`: the source of speed limits; None: no limits."""
        self._store = store
        self._roads = roads
        self._ids = ids
        self._clock = clock

    async def open(
        self,
        *,
        actor: Actor,
        trip_id: TripId,
        reason: Reason,
        text: str,
        event_id: str | None,
        mail: Language | None = None,
    ) -> Dispute:
        """Dispute an event of a scored trip, or the whole trip; `text` gives details.

        `mail`: the language in which to mail the decision to the actor; None: send no mail.

        Raises `NotFound`, `Forbidden`, `NoScoreYet`, `BadParameter`, `AlreadyDisputed`, `TooManyDisputes`.
        """
        disputed = None if event_id is None else await self._disputed(actor, trip_id, event_id)

        def work(tx: WriteTx) -> Dispute:
            trip = _scored_trip(tx, actor, trip_id)
            if tx.shared:
                scores.hold(tx, [trip.no])
            if disputed is not None:
                _event(tx, trip.no, disputed.event_id)
            known = disputes.of_trip(tx, trip.no)
            if len(known) >= OF_TRIP:
                raise TooManyDisputes(most=OF_TRIP)
            if any(each.state in _STANDING and _same(each.event, disputed) for each in known):
                if disputed is None:
                    raise AlreadyDisputed("trip")
                raise AlreadyDisputed("event")
            new_id = self._ids.next(now_ms=self._clock())
            disputes.keep(
                tx,
                dispute_id=new_id,
                company_id=trip.company_id,
                trip_no=trip.no,
                opened_by=actor.user_id,
                reason=reason,
                text=text,
                event=disputed,
                state=NEXT[None, None],
                mail_language=mail,
            )
            return self._stored(tx, new_id)

        return await self._store.write(work)

    def decide(self, tx: WriteTx, *, actor: Actor, dispute_id: str, accept: bool, answer: str | None) -> Dispute:
        """Accept the dispute and rescore its trip without the disputed events, or reject it.

        Raises `NotFound`, `Forbidden`, `OwnDispute`, `NotOpen`.
        """
        found = to_decide(tx, actor=actor, dispute_id=dispute_id)
        self._close(tx, found, Cause.ACCEPT if accept else Cause.REJECT, actor=actor, answer=answer)
        self._mail(tx, found)
        if accept:
            rescore.ask(tx, [found.trip_no], due_ms=self._clock())
        return self._stored(tx, dispute_id)

    def correct(
        self,
        tx: WriteTx,
        *,
        actor: Actor,
        dispute_id: str,
        driver_id: UserId,
        answer: str | None,
        language: Language,
        seen: SeenDriver | None = None,
    ) -> Dispute:
        """Accept a dispute "I was not driving" by giving the trip this driver; nothing is annulled.

        `language`: of the mail to the new driver, unless the account chose one. Raises as `decide` and
        `corrections.correct`, and `BadParameter` for another reason and for the present driver.
        """
        found = to_decide(tx, actor=actor, dispute_id=dispute_id)
        if found.reason is not Reason.NOT_DRIVER:
            raise BadParameter("driver_not_contested", field="driverId")
        if found.driver_id == driver_id:
            raise BadParameter("driver_same", field="driverId")
        self._close(tx, found, Cause.CORRECT, actor=actor, answer=answer)
        corrections.correct(
            tx,
            actor=actor,
            trip_id=found.trip_id,
            driver_id=driver_id,
            language=language,
            ids=self._ids,
            now_ms=self._clock(),
            seen=seen,
        )
        self._mail(tx, found)
        return self._stored(tx, dispute_id)

    def withdraw(self, tx: WriteTx, *, actor: Actor, dispute_id: str) -> Dispute:
        """Withdraw the dispute. Raises `NotFound`, `Forbidden`, `NotOpen`."""
        scope = access.scope_of(actor, Action.DISPUTE_OPEN)
        found = access.admitted(disputes.inside(tx, scope, dispute_id), Thing.DISPUTE)
        if actor.user_id != found.opened_by:
            raise Forbidden("not_opener")
        self._close(tx, found, Cause.WITHDRAW, actor=actor, answer=None)
        return self._stored(tx, dispute_id)

    def _stored(self, tx: WriteTx, dispute_id: str) -> Dispute:
        """Add the notices of a changed dispute and return it; the caller sends `CHANGED` after the commit."""
        found = _found(tx, dispute_id)
        now_ms = self._clock()
        notices.dispute(
            tx,
            found,
            sensor_id=disputes.sensor(tx, found.trip_no),
            at_ms=found.decided_ms or found.created_ms,
            ids=self._ids,
            now_ms=now_ms,
        )
        return found

    def _mail(self, tx: WriteTx, found: Dispute) -> None:
        """Add a mail about the decision, if the opener requested one and still has an account."""
        if found.mail_language is None or found.opened_by is None:
            return
        opener = accounts.credentials_of(tx, found.opened_by)
        if opener is not None:
            mail_outbox.add(
                tx,
                ids=self._ids,
                kind=letters.Kind.DISPUTE,
                recipient=opener.email,
                language=found.mail_language,
                account_id=found.opened_by,
                dispute_id=found.id,
                now_ms=self._clock(),
            )

    def _close(self, tx: WriteTx, found: Dispute, cause: Cause, *, actor: Actor, answer: str | None) -> None:
        """Close the dispute; on a shared store, lock its trip against scoring."""
        if tx.shared:
            scores.hold(tx, [found.trip_no])
            found = _found(tx, found.id)
        state = NEXT.get((found.state, cause))
        if state is None:
            raise NotOpen(state=found.state)
        kept = scores.score(tx, found.trip_no)
        score = None if kept is None else kept.score
        disputes.close(tx, found.id, state, by=actor.user_id, answer=answer, score=score, now_ms=self._clock())

    async def _disputed(self, actor: Actor, trip_id: TripId, event_id: str) -> Disputed:
        """Return the event with the interval of its manoeuvre or stretch; if the trip is too long, only its instant."""

        def work(tx: ReadTx) -> tuple[Event, reads.ScoreFacts | None]:
            event = _event(tx, _scored_trip(tx, actor, trip_id).no, event_id)
            with contextlib.suppress(reads.TooLong):
                return event, reads.to_explain(tx, actor=actor, of=trip_id)
            return event, None

        event, facts = await self._store.read(work)
        interval = Interval(event.event_ms, event.event_ms)
        if facts is not None:
            interval = await asyncio.to_thread(_interval, event, facts, self._roads)
        return Disputed(event.id, event.event_type, event.event_ms, _kind(event), *interval)


def to_decide(tx: ReadTx, *, actor: Actor, dispute_id: str) -> Dispute:
    """Return a dispute that the actor may decide. Raises `NotFound`, `Forbidden`, `OwnDispute`."""
    scope = access.scope_of(actor, Action.DISPUTE_DECIDE)
    found = access.admitted(disputes.inside(tx, scope, dispute_id), Thing.DISPUTE)
    if actor.user_id == found.opened_by:
        raise OwnDispute("opened")
    if actor.user_id == found.driver_id:
        raise OwnDispute("drove")
    return found


def read(tx: ReadTx, *, actor: Actor, dispute_id: str) -> Dispute:
    """A dispute, for readers of its trip and for its opener; an opener without the trip does not see the driver.

    Raises `NotFound`, `Forbidden`.
    """
    found = disputes.inside(tx, access.scope_of(actor, Action.DRIVING_READ), dispute_id)
    if found is not None and found[0].opened_by == actor.user_id and not found[1]:
        return msgspec.structs.replace(found[0], driver_id=None)
    return access.admitted(found, Thing.DISPUTE)


def of_trip(tx: ReadTx, *, actor: Actor, trip_id: TripId) -> list[Dispute]:
    """Disputes of a trip, oldest first. Raises `NotFound`, `Forbidden`."""
    return disputes.of_trip(tx, _trip(tx, actor, Action.DRIVING_READ, trip_id).no)


def of_company(tx: ReadTx, *, actor: Actor, company_id: CompanyId, span: Span, state: State | None) -> list[Dispute]:
    """The company's disputes that the actor may decide, in the order they were opened. Raises `UnknownOffset`."""
    scope = access.scope_of(actor, Action.DISPUTE_DECIDE)
    return disputes.of_company(tx, scope, company_id, span, state=state)


def _trip(tx: ReadTx, actor: Actor, action: Action, trip_id: TripId) -> OwnedTrip:
    admission.admit(tx, actor, action, Thing.TRIP, trip_id)
    return disputes.trip(tx, trip_id)


def _scored_trip(tx: ReadTx, actor: Actor, trip_id: TripId) -> OwnedTrip:
    found = _trip(tx, actor, Action.DISPUTE_OPEN, trip_id)
    reads.trip_score(tx, actor=actor, of=trip_id)  # refuses a trip without a score
    return found


def _event(tx: ReadTx, trip_no: int, event_id: str) -> Event:
    found = disputes.event(tx, trip_no, event_id)
    if found is None:
        raise BadParameter("event_unknown", field="eventId")
    return found


def _found(tx: ReadTx, dispute_id: str) -> Dispute:
    found = disputes.inside(tx, access.Scope.everything("what was just written"), dispute_id)
    assert found is not None
    return found[0]


def _same(one: Disputed | None, other: Disputed | None) -> bool:
    """True if both dispute the whole trip, or an event of the same kind within the same interval."""
    if one is None or other is None:
        return one is other
    return one.kind == other.kind and one.begin_ms <= other.event_ms <= one.end_ms


def _kind(event: Event) -> str:
    return next(name for name, types in COUNTED.items() if event.event_type in types)


def _interval(event: Event, facts: reads.ScoreFacts, roads: RoadMatcher | None) -> Interval:
    """Return the interval of an event's manoeuvre or stretch over the limit, including the last sample."""
    explained = explanation.of_facts(facts, datetime.UTC, roads)
    if event.event_type != EventType.OVERSPEED:
        for manoeuvre in explained.manoeuvres:
            if manoeuvre.event_id == event.id:
                return Interval(manoeuvre.begin_ms, manoeuvre.end_ms)
    for stretch in explained.stretches:
        if event.id in stretch.event_ids:
            return Interval(stretch.begin_ms, stretch.last_ms)
    return Interval(event.event_ms, event.event_ms)


class ToDecide(NamedTuple):
    """A dispute with the trip to judge."""

    dispute: Dispute
    trip: reads.Rejudged


def to_preview(tx: ReadTx, *, actor: Actor, dispute_id: str) -> ToDecide:
    """Read a dispute that the actor may decide. Raises `NotFound`, `Forbidden`, `OwnDispute`, `TooLong`."""
    dispute = to_decide(tx, actor=actor, dispute_id=dispute_id)
    return ToDecide(dispute, reads.rejudged_of(tx, score_reads.to_explain(tx, dispute.trip_id)))


def score_without(found: ToDecide, roads: RoadMatcher | None = None) -> float | None:
    """Return the score of the trip if the dispute is accepted; None: it would have none.

    Raises ValueError when packed samples are truncated, `Outage`.
    """
    event = found.dispute.event
    if event is None:
        return None
    annulled = Annulled(found.dispute.id, event.kind, event.begin_ms, event.end_ms)
    task = found.trip.task._replace(annulled=(*found.trip.task.annulled, annulled))
    return explanation.of_trip(task, found.trip.policy.rules, (), utc_offset_ms=0, roads=roads).score
