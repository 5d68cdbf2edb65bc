"""Scoring policies: every number that a score depends on, kept under a number that the score names.

A policy is never changed and never deleted. Policies 1 to 3 are the program's own; settings that differ become the
next number when a program starts with them.

Not here: the meaning of the numbers (`scoring/rules.py`, `docs/scoring.md`).
"""

from enum import StrEnum
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, ScalarSelect, and_, bindparam, delete, func, insert, or_, select

from tripline.domain.access import Scope
from tripline.domain.ids import UserId
from tripline.scoring import rules as scoring_rules
from tripline.scoring.rules import Rules
from tripline.store import scopes
from tripline.store.tables import company, policy_choice, scoring_policy, trip
from tripline.store.transactions import AnyRow, Hot, ReadTx, WriteTx

FIRST: Final = (
    b'{"scoring":{"min_distance_m":3000.0,"max_median_s":5.0,"default_limit_kmh":110.0,"instant_ms":920,'
    b'"overspeed_cap_ms":5000,"tolerance":"factor","harsh_weight":0.45,"overspeed_weight":0.04,'
    b'"added_m":0.0,"accumulate":"pooled","grace_s":0.0},"harsh":{"start":[10.0,8.0,6.0],"acceleration_to_10":[12.0,8.0,7.0],'
    b'"acceleration_to_20":[10.0,7.0,6.0],"acceleration_above_20":[8.0,6.0,5.0],"deceleration_to_30":[14.0,9.0,'
    b'8.0],"deceleration_to_50":[15.0,10.0,8.0],"deceleration_above_50":[15.0,12.0,8.0],"stop":[14.0,9.0,8.0],'
    b'"standing_kmh":5.0,"ignored_fixes":3,"rate_max_ms":5500,"rate_limit_kmh_s":36.0,'
    b'"sampling_exponent":0.3,"two_intervals":1.9,"phase_edge_kmh_s":3.0,"speed_window":5},'
    b'"guards":{"fastest_kmh":300.0,"hole_ms":5000,"lone_kmh_s":12.0,"steady_kmh":6.0,"implied_least":0.85,'
    b'"implied_most":1.15,"still_kmh":1.0,"step_factor":1.3,"step_margin_mps":3.0,"step_slack_m":25.0,"fastest_mps":70.0,'
    b'"gap_ms":30000,"still_m":30.0,"still_ms":60000,"stated_least":0.8,"stated_most":1.25,"few_samples":30}}'
)
"""Policy 1, independent of the defaults of later versions."""


SECOND: Final = (
    FIRST[:-1] + b',"style":{"braking_kmh_s":6.0,"braking_weight":0.1,"lateral_g":0.3,"cornering_kmh":15.0,'
    b'"cornering_weight":0.2,"over_20_weight":0.04,"over_35_weight":0.08}}'
)
"""Policy 2: policy 1 and the style of driving. It can be chosen."""


THIRD: Final = (
    FIRST.replace(b'"harsh_weight":0.45', b'"harsh_weight":0.25')
    .replace(b'"overspeed_weight":0.04', b'"overspeed_weight":0.015')
    .replace(b'"added_m":0.0', b'"added_m":5000.0')[:-1]
    + b',"style":{"braking_kmh_s":6.0,"braking_weight":0.25,"lateral_g":0.3,"cornering_kmh":15.0,'
    b'"cornering_weight":0.05,"over_20_weight":0.0,"over_35_weight":0.0}}'
)
"""Policy 3: lighter weights, steady braking as a harsh event, and 5 km more for each trip. It can be chosen."""


LAST: Final = 2**31 - 1
"""No number is greater: the column holds none."""


class Policy(NamedTuple):
    """A policy as stored."""

    no: int
    rules: Rules


class Kind(StrEnum):
    """The subject of a choice; a company's own choice overrides its service's."""

    COMPANY = "company"
    SERVICE_TYPE = "service_type"


class Chosen(NamedTuple):
    """Which policy is for a company or service type, from a date on."""

    kind: Kind
    subject: str
    """The id of the company, or the service type."""
    from_ms: int
    """For trips that begin then or later, until the next one."""
    no: int | None
    """None: none of its own any more."""
    chosen_ms: int
    """Time of the choice."""
    chosen_by: UserId | None
    """The account; None: the operator of the machine."""


class ChosenFor(NamedTuple):
    """A choice with the name of its company."""

    chosen: Chosen
    name: str | None
    """None: for a service type."""


def one(tx: ReadTx, no: int) -> Policy | None:
    """The policy with this number; None: there is none."""
    if not 0 < no <= LAST:
        return None
    rows = tx.hot(_ONE, no)
    return Policy(no, scoring_rules.read(rows[0][0])) if rows else None


def of_result(tx: ReadTx, no: int) -> Policy:
    """The policy of a trip's result; policy 1 if the result names none that is stored."""
    return one(tx, no) or Policy(1, scoring_rules.read(FIRST))


def every(tx: ReadTx) -> list[Policy]:
    """All policies, the oldest first."""
    return [Policy(no, scoring_rules.read(body)) for no, body in tx.hot(_ALL)]


def choices(tx: ReadTx) -> list[Chosen]:
    """All choices: companies by id, then service types, each by effective date."""
    return [_chosen(row) for row in tx.all(_CHOICES)]


def choices_of(tx: ReadTx, kind: Kind, subject: str) -> list[Chosen]:
    """The choices for one company or service type, the earliest first."""
    return [_chosen(row) for row in tx.all(_CHOICES_OF, {"of_kind": kind.value, "of_subject": subject})]


def choices_within(tx: ReadTx, scope: Scope, *, service_type: str | None, limit: int) -> list[ChosenFor]:
    """Choices for companies inside the scope and for a service type (None: all), the latest first."""
    of_company = scopes.companies(scope.reaches)  # of no service type: those join no company
    # Not equal to a kind, or SQLite would read all choices by their key and sort them.
    of_service = policy_choice.c.kind != Kind.COMPANY.value
    if service_type is not None:
        of_service = and_(of_service, policy_choice.c.subject == service_type)
    joined = policy_choice.outerjoin(
        company, and_(policy_choice.c.kind == Kind.COMPANY.value, company.c.id == policy_choice.c.subject)
    )
    found = _CHOICES.add_columns(company.c.name).select_from(joined).where(or_(of_company, of_service))
    latest = found.order_by(None).order_by(policy_choice.c.from_ms.desc(), policy_choice.c.subject.desc()).limit(limit)
    return [ChosenFor(_chosen(row), row.name) for row in tx.all(latest, scopes.values(scope))]


def of_rules(tx: ReadTx, wanted: Rules) -> Policy | None:
    """The policy with these rules; None: there is none yet."""
    same = scoring_rules.read(wanted.written())
    return next((policy for policy in every(tx) if policy.rules == same), None)


def keep(tx: WriteTx, wanted: Rules, *, now_ms: int) -> Policy:
    """The policy with these rules, which becomes the next one when there is none; the program's own come first."""
    numbers = {policy.rules: policy.no for policy in every(tx)}
    for body in (FIRST, SECOND, THIRD, wanted.written()):
        rules = scoring_rules.read(body)
        if rules not in numbers:
            numbers[rules] = 1 + max(numbers.values(), default=0)
            tx.run(insert(scoring_policy), {"no": numbers[rules], "created_ms": now_ms, "body": body})
    return Policy(numbers[rules], rules)


def choose(
    tx: WriteTx, kind: Kind, subject: str, no: int | None, *, from_ms: int, now_ms: int, by: UserId | None = None
) -> None:
    """Score trips of a company (its id) or of a service type that begin then or later by this policy.

    It replaces choices for later dates. None: no policy of its own. Raises ValueError if the policy does not exist.
    """
    if no is not None and one(tx, no) is None:
        raise ValueError(f"there is no policy {no}")
    tx.run(_FORGET_LATER, {"of_kind": kind.value, "of_subject": subject, "at_ms": from_ms})
    row = {"kind": kind.value, "subject": subject, "from_ms": from_ms, "policy": no}
    tx.run(insert(policy_choice), {**row, "chosen_ms": now_ms, "chosen_by": by})


def chosen() -> ColumnElement[int | None]:
    """The policy chosen for the company of a trip when it began, else for its service type; NULL: none."""
    return func.coalesce(_newest("company", trip.c.company_id), _newest("service_type", trip.c.service_type))


def _newest(kind: str, subject: ColumnElement[str]) -> ScalarSelect[Any]:
    """The policy chosen for a subject when the trip began."""
    in_time = policy_choice.c.from_ms <= func.coalesce(trip.c.start_ms, trip.c.created_ms)
    of_subject = and_(policy_choice.c.kind == kind, policy_choice.c.subject == subject, in_time)
    newest = select(policy_choice.c.policy).where(of_subject).order_by(policy_choice.c.from_ms.desc()).limit(1)
    return newest.scalar_subquery()


def _chosen(row: AnyRow) -> Chosen:
    return Chosen(Kind(row.kind), row.subject, row.from_ms, row.policy, row.chosen_ms, row.chosen_by)


_ALL: Final = Hot(select(scoring_policy.c.no, scoring_policy.c.body).order_by(scoring_policy.c.no))
_ONE: Final = Hot(select(scoring_policy.c.body).where(scoring_policy.c.no == bindparam("no")), "no")
_CHOICES: Final = select(policy_choice).order_by(policy_choice.c.kind, policy_choice.c.subject, policy_choice.c.from_ms)
_OF: Final = (policy_choice.c.kind == bindparam("of_kind"), policy_choice.c.subject == bindparam("of_subject"))
_CHOICES_OF: Final = _CHOICES.where(*_OF)
_FORGET_LATER: Final = delete(policy_choice).where(*_OF, policy_choice.c.from_ms >= bindparam("at_ms"))
