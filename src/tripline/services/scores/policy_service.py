"""Show, preview and choose the policy that scores a company's trips, for administrators."""

import datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from tripline.domain import access, trends
from tripline.domain.access import Action, Actor, Authority, Scope, Thing
from tripline.domain.history import Change, Event
from tripline.domain.ids import CompanyId, TimeIds
from tripline.domain.refusals import BadParameter, TryLater
from tripline.domain.scores import Source
from tripline.domain.shares import Holder, Shares
from tripline.ports.clocks import Clock
from tripline.ports.maps import RoadMatcher
from tripline.scoring.rules import Rules
from tripline.services import admission
from tripline.services.fleet import history
from tripline.services.scores import rescore
from tripline.services.scores.rescore import Preview
from tripline.services.shares import Places, Turns
from tripline.store.fleet import companies
from tripline.store.scores import policies, sums
from tripline.store.scores import rescore as rows
from tripline.store.scores.policies import Chosen, ChosenFor, Kind, Policy
from tripline.store.transactions import ReadTx, Store, WriteTx

VEHICLES: Final = 100
TRIPS: Final = 500
SAMPLES: Final = 2_000_000
PREVIEW_MS: Final = 1_000
"""Limits of a preview; judging this many samples takes about as long."""
LISTED: Final = 100
"""Most choices in a list of those for several companies."""
PREVIEWS: Final = Shares.of(8)
"""Waiting and running previews of a process; one runs at a time."""
COME_AGAIN_S: Final = 2


_TIME: Final = "%Y-%m-%d %H:%M UTC"
_ANY: Final = Scope.everything("which service a company belongs to")


class PreviewUnderWay(TryLater):
    """Too many previews of the account, its company or its operator wait, or this one made room for another."""

    code = "policy.preview_under_way"


class InForce(NamedTuple):
    """The policy of a trip that begins now."""

    no: int | None
    """None: nothing is scored yet and the settings have none."""
    source: Source
    since_ms: int | None
    """From when the choice holds; None: nothing was chosen."""


class PolicyService:
    """One for each process."""

    def __init__(
        self, *, store: Store, rules: Rules, ids: TimeIds, clock: Clock, roads: RoadMatcher | None = None
    ) -> None:
        """`roads`: the source of speed limits; None: no limits."""
        self._roads = roads
        self._store = store
        self._rules = rules
        self._ids = ids
        self._clock = clock
        self._places = Places(PREVIEWS)
        self._turns = Turns()

    async def preview(self, company_id: CompanyId, policy: Policy, holder: Holder) -> Preview:
        """Return the changes if the company's newest trips were scored by this policy; previews run one at a time.

        It ends after `PREVIEW_MS`, with the trips that were judged until then.

        Raises `PreviewUnderWay`, `Outage`.
        """
        full = PreviewUnderWay(after_s=COME_AGAIN_S)
        gave_way = PreviewUnderWay("gave_way", after_s=COME_AGAIN_S)
        async with self._places.place(holder, full=full, gave_way=gave_way) as place, self._turns.turn(holder.operator):
            place.stays = True
            trip_nos = await self._store.read(lambda tx: rows.newest(tx, company_id, vehicles=VEHICLES, trips=TRIPS))
            until_ms = self._clock() + PREVIEW_MS
            return await rescore.tried_on(
                *(self._store, trip_nos, policy),
                most=SAMPLES,
                in_time=lambda: self._clock() < until_ms,
                roads=self._roads,
            )

    def in_force(self, tx: ReadTx, company_id: CompanyId) -> InForce:
        """The policy of a trip of the company that begins now."""
        begun = [each for each in policies.choices_of(tx, Kind.COMPANY, company_id) if each.from_ms <= self._clock()]
        if begun and begun[-1].no is not None:
            return InForce(begun[-1].no, Source.COMPANY, begun[-1].from_ms)
        return self.in_force_without(tx, company_id)

    def in_force_without(self, tx: ReadTx, company_id: CompanyId) -> InForce:
        """The policy of a trip of the company that begins now, if none were chosen for the company."""
        if (found := companies.find(tx, _ANY, company_id)) is not None:
            chosen = policies.choices_of(tx, Kind.SERVICE_TYPE, found[0].service_type)
            begun = [each for each in chosen if each.from_ms <= self._clock()]
            if begun and begun[-1].no is not None:
                return InForce(begun[-1].no, Source.SERVICE_TYPE, begun[-1].from_ms)
        return InForce(self.of_settings(tx), Source.SETTINGS, None)

    def of_settings(self, tx: ReadTx) -> int | None:
        """The policy of the settings; None: it is not stored yet."""
        own = policies.of_rules(tx, self._rules)
        return None if own is None else own.no

    def to_score(self, tx: ReadTx, company_id: CompanyId, no: int | None, *, from_ms: int, zone: ZoneInfo) -> int:
        """Count the scored trips that choosing a policy from an instant on would score again.

        They begin on the day of the instant or later, and their scores are by another policy. None: the policy without
        a choice of the company.
        """
        wanted = self.in_force_without(tx, company_id).no if no is None else no
        return sums.trips_of_others(tx, company_id, policy=wanted, first=trends.day_of(from_ms, zone))

    def choose(self, tx: WriteTx, *, actor: Actor, company_id: CompanyId, no: int | None, from_ms: int | None) -> int:
        """Score the company's trips that begin from `from_ms` (None: now) by this policy; None: by the default policy.

        Return the instant it takes effect. Raises `NotFound`, `Forbidden`, `BadParameter`.
        """
        admission.admit(tx, actor, Action.POLICY_CHOOSE, Thing.COMPANY, company_id)
        if no is not None:
            known(tx, no)
        now_ms = self._clock()
        begins = now_ms if from_ms is None else from_ms
        before = [each for each in policies.choices_of(tx, Kind.COMPANY, company_id) if each.from_ms <= begins]
        policies.choose(tx, Kind.COMPANY, company_id, no, from_ms=begins, now_ms=now_ms, by=actor.user_id)
        history.note(
            tx,
            actor,
            Event.CHANGED,
            company_id=company_id,
            changes=(
                Change("scoringPolicy", before=before[-1].no if before else None, after=no),
                Change(
                    "scoringPolicyFrom",
                    after=f"{datetime.datetime.fromtimestamp(begins / 1_000, datetime.UTC):{_TIME}}",
                ),
            ),
            ids=self._ids,
            now_ms=now_ms,
        )
        return begins


def choices(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> list[Chosen]:
    """Policies chosen for the company, earliest first. Raises `NotFound` or `Forbidden`."""
    admission.admit(tx, actor, Action.POLICY_CHOOSE, Thing.COMPANY, company_id)
    return policies.choices_of(tx, Kind.COMPANY, company_id)


def choices_within(tx: ReadTx, *, actor: Actor) -> list[ChosenFor]:
    """The latest choices for companies whose policy the actor may choose, and for their service type."""
    scope = access.scope_of(actor, Action.POLICY_CHOOSE)
    service_type = None
    if actor.authority is not Authority.SYS_ADMIN:
        own = None if actor.company_id is None else companies.find(tx, _ANY, actor.company_id)
        service_type = "" if own is None else own[0].service_type
    return policies.choices_within(tx, scope, service_type=service_type, limit=LISTED)


def known(tx: ReadTx, no: int) -> Policy:
    """Return the policy with this number. Raises `BadParameter`."""
    found = policies.one(tx, no)
    if found is None:
        raise BadParameter("policy_unknown", field="policy", no=no)
    return found
