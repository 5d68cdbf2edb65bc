"""Show, preview and choose the policy that scores a company's trips, for administrators.

Not here: the commands for the operator of the machine (`maintenance/policies.py`), the contents of a policy
(`scoring/rules.py`).
"""

import datetime
from typing import Final

from tripline.domain import access
from tripline.domain.access import Action, Actor, Scope
from tripline.domain.history import Change, Event
from tripline.domain.ids import CompanyId, TimeIds
from tripline.domain.refusals import BadParameter, TryLater
from tripline.domain.shares import Holder, Shares
from tripline.ports.clocks import Clock
from tripline.ports.maps import RoadMatcher
from tripline.scoring.rules import Rules
from tripline.services.fleet import history
from tripline.services.scores import rescore
from tripline.services.scores.rescore import Outcome
from tripline.services.shares import Places, Turns
from tripline.store.fleet import companies
from tripline.store.scores import policies
from tripline.store.scores import rescore as rows
from tripline.store.scores.policies import Chosen, Kind, Policy
from tripline.store.transactions import ReadTx, Store, WriteTx

VEHICLES: Final = 100
TRIPS: Final = 500
SAMPLES: Final = 2_000_000
"""Limits of a preview; judging this many samples takes about a second."""
PREVIEWS: Final = Shares.of(8)
"""Waiting and running previews of a process; one runs at a time."""
COME_AGAIN_S: Final = 2


_TIME: Final = "%Y-%m-%d %H:%M UTC"
_ANY: Final = Scope.everything("which service a company belongs to")


class PreviewUnderWay(TryLater):
    """Too many previews of the account, its company or its operator wait, or this one made room for another."""

    code = "policy.preview_under_way"


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

    async def preview(self, company_id: CompanyId, policy: Policy, holder: Holder) -> Outcome:
        """Return the changes if the company's newest trips were scored by this policy; previews run one at a time.

        Raises `PreviewUnderWay`, `Outage`.
        """
        full = PreviewUnderWay(after_s=COME_AGAIN_S)
        gave_way = PreviewUnderWay("gave_way", after_s=COME_AGAIN_S)
        async with (
            self._places.place(holder, full=full, gave_way=gave_way) as place,
            self._turns.turn(holder.operator),
        ):
            place.stays = True
            trip_nos = await self._store.read(lambda tx: rows.newest(tx, company_id, vehicles=VEHICLES, trips=TRIPS))
            return await rescore.tried_on(self._store, trip_nos, policy, most=SAMPLES, roads=self._roads)

    def in_force(self, tx: ReadTx, company_id: CompanyId) -> int | None:
        """Number of the policy for a trip that begins now; None: nothing is scored yet and the settings have none."""
        now_ms = self._clock()
        subjects = [(Kind.COMPANY, str(company_id))]
        if (found := companies.find(tx, _ANY, company_id)) is not None:
            subjects.append((Kind.SERVICE_TYPE, found[0].service_type))
        for kind, subject in subjects:
            begun = [each for each in policies.choices_of(tx, kind, subject) if each.from_ms <= now_ms]
            if begun and begun[-1].no is not None:
                return begun[-1].no
        own = policies.of_rules(tx, self._rules)
        return None if own is None else own.no

    def choose(self, tx: WriteTx, *, actor: Actor, company_id: CompanyId, no: int | None, from_ms: int | None) -> int:
        """Score the company's trips that begin from `from_ms` (None: now) by this policy; None: by the default policy.

        Return the instant it takes effect. Raises `NotFound`, `Forbidden`, `BadParameter`.
        """
        admit(tx, actor=actor, company_id=company_id)
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


def admit(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> None:
    """Admit an actor who may choose the company's policy. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.POLICY_CHOOSE)
    access.admit(companies.inside(tx, scope, company_id), access.Thing.COMPANY)


def choices(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> list[Chosen]:
    """Policies chosen for the company, earliest first. Raises `NotFound` or `Forbidden`."""
    admit(tx, actor=actor, company_id=company_id)
    return policies.choices_of(tx, Kind.COMPANY, company_id)


def known(tx: ReadTx, no: int) -> Policy:
    """Return the policy with this number. Raises `BadParameter`."""
    found = policies.one(tx, no)
    if found is None:
        raise BadParameter("policy_unknown", field="policy", no=no)
    return found
