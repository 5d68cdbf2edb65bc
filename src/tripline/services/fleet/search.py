"""Finding vehicles, sensors, people and companies by the beginning of any of their numbers, names or addresses, or by
the last digits of a number; for a platform administrator, accounts and companies.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from tripline.domain import access, lines
from tripline.domain.access import RULES, Action, Actor
from tripline.services.accounts import directory
from tripline.services.fleet import lists
from tripline.store.listing import accounts, companies, numbers, sensors, vehicles
from tripline.store.listing.accounts import ListedAccount
from tripline.store.listing.companies import ListedCompany
from tripline.store.listing.numbers import LineMatch, PersonMatch
from tripline.store.listing.pages import PageRequest
from tripline.store.listing.sensors import ListedSensor
from tripline.store.listing.vehicles import ListedVehicle
from tripline.store.transactions import ReadTx

LEAST: Final = 2
"""Minimum number of characters for a search."""
MOST: Final = 6
"""Things of a kind that are shown."""


class SearchResults(msgspec.Struct, frozen=True, kw_only=True):
    """Records that begin with the text, or have a number ending with it; up to `MOST` of each kind."""

    vehicles: Sequence[ListedVehicle] = ()
    sensors: Sequence[ListedSensor] = ()
    lines: Sequence[LineMatch] = ()
    """Sensors by a number of their line; none that is among `sensors`."""
    people: Sequence[PersonMatch] = ()
    companies: Sequence[ListedCompany] = ()
    accounts: Sequence[ListedAccount] = ()
    """By e-mail address, for a platform administrator."""
    more_lines: bool = False
    """True if there may be more lines."""
    lines_by_phone: bool = False
    """True if telephone numbers of lines begin with the text, so that the list of lines finds them too."""

    @property
    def empty(self) -> bool:
        """True if the search has no results."""
        return not (self.vehicles or self.sensors or self.lines or self.people or self.companies or self.accounts)


def find(tx: ReadTx, *, actor: Actor, text: str) -> SearchResults:
    """Find records within the actor's reach that begin with the text, or have a number ending with it
    (`store/endings.py`); empty for less than `LEAST` characters."""
    text = text.strip()[:255]
    if len(text) < LEAST:
        return SearchResults()
    by_serial = _sensors(tx, actor, text)
    known = {each.id for each in by_serial}
    by_line = _lines(tx, actor, text)
    return SearchResults(
        vehicles=_vehicles(tx, actor, text),
        sensors=by_serial,
        lines=[each for each in by_line if each.sensor_id not in known],
        more_lines=len(by_line) == MOST,
        lines_by_phone=any((each.mdn or "").startswith(lines.number_of(text) or text) for each in by_line),
        people=_people(tx, actor, text),
        companies=_companies(tx, actor, text),
        accounts=_accounts(tx, actor, text),
    )


def _may(actor: Actor, action: Action) -> bool:
    return actor.authority in RULES[action] and actor.company_id is not None


def _vehicles(tx: ReadTx, actor: Actor, text: str) -> Sequence[ListedVehicle]:
    if not _may(actor, Action.VEHICLE_READ):
        return ()
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    return vehicles.LIST.page(tx, scope, vehicles.Filters(search=text), PageRequest(limit=MOST, by="number")).rows


def _sensors(tx: ReadTx, actor: Actor, text: str) -> Sequence[ListedSensor]:
    if not _may(actor, Action.SENSOR_READ):
        return ()
    scope = access.scope_of(actor, Action.SENSOR_READ)
    return sensors.LIST.page(tx, scope, sensors.Filters(search=text), PageRequest(limit=MOST, by="serial")).rows


def _lines(tx: ReadTx, actor: Actor, text: str) -> Sequence[LineMatch]:
    number = lines.number_of(text)
    if number is None or not _may(actor, Action.SENSOR_READ):
        return ()
    return numbers.lines(tx, access.scope_of(actor, Action.SENSOR_READ), number, limit=MOST)


def _people(tx: ReadTx, actor: Actor, text: str) -> Sequence[PersonMatch]:
    if not _may(actor, Action.PERSON_LIST):
        return ()
    return numbers.people(tx, access.scope_of(actor, Action.PERSON_LIST), text, limit=MOST)


def _companies(tx: ReadTx, actor: Actor, text: str) -> Sequence[ListedCompany]:
    if not (_may(actor, Action.COMPANY_LIST) or _manages_accounts(actor)):
        return ()
    filters, page_request = companies.Filters(search=text), PageRequest(limit=MOST, by="name")
    return lists.UNCOUNTED_COMPANIES.page(tx, actor=actor, filters=filters, page_request=page_request).rows


def _accounts(tx: ReadTx, actor: Actor, text: str) -> Sequence[ListedAccount]:
    if not _manages_accounts(actor):
        return ()
    return directory.ACCOUNTS.page(
        tx, actor=actor, filters=accounts.Filters(search=text), page_request=PageRequest(limit=MOST, by="email")
    ).rows


def _manages_accounts(actor: Actor) -> bool:
    return actor.authority in RULES[Action.ACCOUNT_MANAGE]
