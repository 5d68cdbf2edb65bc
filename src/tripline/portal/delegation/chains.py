"""The page of a vehicle's chain: owner, delegations, director and driver as a diagram, and people's rights."""

from collections.abc import Sequence
from typing import Any, Final, TypedDict

from litestar.response import Response

from tripline.domain import access, chains, fields
from tripline.domain.access import Action, Actor, Authority, Thing
from tripline.domain.chains import Chain, Person
from tripline.domain.delegations import Relation, Right, UserRole
from tripline.domain.ids import SensorId, UserId, VehicleId
from tripline.domain.refusals import BadParameter, NotFound, Refusal
from tripline.http import parameters
from tripline.http.context import Call, context_of
from tripline.portal.frame import addresses, digests, forms, views
from tripline.portal.frame.deletions import GoesChanged
from tripline.portal.frame.notices import Undo
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_in, visitor_of
from tripline.services import admission, notifications
from tripline.services.fleet import candidates, lists, rights
from tripline.services.fleet import chains as service
from tripline.services.fleet.rights import Ending
from tripline.store.listing.pages import PageRequest, Place
from tripline.store.listing.people import Filters, ListedPerson
from tripline.store.lists import Window
from tripline.store.transactions import ReadTx, WriteTx

FOUND: Final = 10
_WORD: Final = "portal.chain.may."
_END: Final = "portal.chain.end."
_ENDED: Final = {
    (False, True): "portal.chain.ended",
    (False, False): "portal.chain.ended.for_good",
    (True, True): "portal.chain.ended.drive",
    (True, False): "portal.chain.ended.drive_for_good",
}
"""Notices after a right was taken back, by (the person was driving, the right can be given again)."""
_USER: Final = "userId"
_RIGHT: Final = "right"
_DRIVE: Final = "drive"
"""Suffix of the text for the action of choosing the driver, shown to a driver."""


class _Of(TypedDict):
    actor: Actor
    user_id: UserId
    vehicle_id: VehicleId
    role: UserRole


@page("GET", "/delegation/vehicles/{vehicleId}", access=Action.VEHICLE_DELEGATIONS_READ)
async def chain(request: Call) -> Response[bytes]:
    """The vehicle's holders, director and driver, and their permitted actions."""
    visitor, shown = await visitor_and(request, lambda tx, visitor: _shown(tx, request, visitor.actor), short=False)
    return _page(request, visitor, shown)


@page("POST", "/delegation/vehicles/{vehicleId}/rights", access=Action.RIGHT_GIVE_DRIVER)
async def give(request: Call) -> Response[bytes]:
    """Give a person a right on the vehicle."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    context = context_of(request)
    vehicle_id, now_ms = parameters.vehicle_id(request), context.clock()

    def work(tx: WriteTx) -> tuple[Right, Ending]:
        of = _Of(
            actor=visitor.actor,
            user_id=_user_id(form.text(_USER)),
            vehicle_id=vehicle_id,
            role=_role(form.text(_RIGHT)),
        )
        return rights.give(tx, **of, ids=context.ids, now_ms=now_ms), rights.ending(tx, **of)

    try:
        right, ending = await context.store.write(work)
    except Refusal as refusal:
        return await _refused(request, visitor, forms.of_form(refusal))
    address = _address(vehicle_id)
    undo = None
    if not ending.stops_driving:
        values = {_USER: right.user_id, _RIGHT: right.user_role.value, "digest": _digest(ending)}
        undo = Undo(f"{address}/rights/end", values)
    return views.moved(request, address, notice="portal.chain.given", undo=undo, name=right.user_name)


@page("GET", "/delegation/vehicles/{vehicleId}/rights/end", access=Action.RIGHT_GIVE_DRIVER)
async def ask_to_take_back(request: Call) -> Response[bytes]:
    """Ask before a person's right on the vehicle is taken back, and show the effects."""
    query = request.query_params

    def work(tx: ReadTx) -> tuple[UserId, Ending]:
        actor = visitor_in(tx, request).actor
        user_id, role = _user_id(query.get(_USER, "")), _role(query.get(_RIGHT, ""))
        vehicle_id = parameters.vehicle_id(request)
        return user_id, rights.ending(tx, actor=actor, user_id=user_id, vehicle_id=vehicle_id, role=role)

    return _ending(request, *await context_of(request).store.read_short(work))


@page("POST", "/delegation/vehicles/{vehicleId}/rights/end", access=Action.RIGHT_GIVE_DRIVER)
async def take_back(request: Call) -> Response[bytes]:
    """Take a person's right on the vehicle back, with the effects shown before."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    context = context_of(request)
    vehicle_id, now_ms = parameters.vehicle_id(request), context.clock()
    user_id, role = _user_id(form.text(_USER)), _role(form.text(_RIGHT))
    of = _Of(actor=visitor.actor, user_id=user_id, vehicle_id=vehicle_id, role=role)

    def work(tx: WriteTx) -> tuple[Ending, list[SensorId], bool]:
        ending = rights.ending(tx, **of)
        if form.text("digest") != _digest(ending):
            raise GoesChanged("right")
        sensors = rights.take_back(tx, **of, ids=context.ids, now_ms=now_ms)
        return ending, sensors, rights.could_give(tx, **of)

    try:
        ending, sensors, can_return = await context.store.write(work)
    except GoesChanged as refusal:
        ending = await context.store.read_short(lambda tx: rights.ending(tx, **of))
        return _ending(request, user_id, ending, error=refusal)
    except NotFound as refusal:
        if refusal.case != "right":
            raise
        # The right was taken back in another window.
        return await _refused(request, visitor, refusal)
    notifications.send(context.signals, notifications.sensors_changed(sensors))
    address = _address(vehicle_id)
    undo = Undo(f"{address}/rights", {_USER: user_id, _RIGHT: role.value}) if can_return else None
    notice = _ENDED[ending.stops_driving, can_return]
    return views.moved(request, address, notice=notice, undo=undo, name=ending.user_name, number=ending.vehicle_no)


async def _refused(request: Call, visitor: Visitor, error: Refusal) -> Response[bytes]:
    shown = await context_of(request).store.read(lambda tx: _shown(tx, request, visitor.actor))
    return _page(request, visitor, shown, error=error)


def _ending(request: Call, user_id: UserId, ending: Ending, *, error: Refusal | None = None) -> Response[bytes]:
    return views.show(
        request,
        "delegation/end_right.html",
        title=_END + ending.role,
        error=error,
        ending=ending,
        user_id=user_id,
        digest=_digest(ending),
        address=_address(parameters.vehicle_id(request)),
    )


def _digest(ending: Ending) -> str:
    """Digest of the right and its effect on driving."""
    return digests.of({"right": ending.role, "drives": str(ending.stops_driving)})


def _shown(tx: ReadTx, request: Call, actor: Actor) -> dict[str, Any]:
    vehicle_id = parameters.vehicle_id(request)
    found = service.of_vehicle(tx, actor=actor, vehicle_id=vehicle_id)
    may = admission.allowed(tx, actor, chains.ON_VEHICLE, Thing.VEHICLE, vehicle_id)
    return {
        "chain": found,
        "owner": found.owner,
        "offered": _offered(tx, request, actor, may, found),
        "companies": _companies(tx, actor, may, found),
        "may_delegate": Action.VEHICLE_DELEGATE in may,
        "may_give": Action.RIGHT_GIVE_DRIVER in may,
        "may_give_director": Action.RIGHT_GIVE_DIRECTOR in may,
    }


def _offered(tx: ReadTx, request: Call, actor: Actor, may: frozenset[Action], chain: Chain) -> dict[str, Any]:
    """A page of people of the actor's company who match the search and may receive a right from the actor."""
    roles: dict[Authority, tuple[UserRole, ...]] = {}
    if Action.RIGHT_GIVE_DRIVER in may:
        roles = {Authority.DIRECTOR: (UserRole.DRIVER,), Authority.DRIVER: (UserRole.DRIVER,)}
    if Action.RIGHT_GIVE_DIRECTOR in may:
        roles[Authority.DIRECTOR] = (UserRole.DELEGATED_DIRECTOR, UserRole.DRIVER)
    own, who = access.company_of(actor), addresses.text(request, "who")[: addresses.SEARCH_MAX]
    # The lists of both roles continue after the same cursor, which belongs to one of them.
    place = addresses.place(addresses.text(request, addresses.AFTER))
    page_request = PageRequest(limit=FOUND + 1, by="name", place=place)
    found: list[tuple[ListedPerson, Authority]] = []
    for authority in roles:
        filters = Filters(company_id=own, role=authority, search=who or None)
        found.extend(
            (each, authority)
            for each in lists.PEOPLE.page(tx, actor=actor, filters=filters, page_request=page_request).rows
        )
    found.sort(key=lambda each: (each[0].name, each[0].id))
    there = {person.user_id: person for member in chain.members for person in member.people}
    kept = [("who", who)] if who else []
    # Not the requested address: a refused form was sent to another one.
    address, following = _address(chain.vehicle_id), None
    if len(found) > FOUND:
        last = found[FOUND - 1][0]
        following = addresses.of(address, [*kept, (addresses.AFTER, addresses.of_place(Place(last.name, last.id)))])
    return {
        "rows": [_offer(each, roles[role], there.get(each.id), actor) for each, role in found[:FOUND]],
        "first": addresses.of(address, kept) if place else None,
        "next": following,
    }


def _offer(user: ListedPerson, given: tuple[UserRole, ...], there: Person | None, actor: Actor) -> dict[str, Any]:
    """The person with the rights that it has and those left to give; `there` is its entry in the chain, if any."""
    manages, rights = (False, ()) if there is None else (there.manages, there.rights)
    directs = manages or user.id == actor.user_id  # People cannot give themselves the right to direct.
    useless = {*rights, *((UserRole.DELEGATED_DIRECTOR,) if directs else ())}
    roles = tuple(role for role in given if role not in useless)
    person = {"id": user.id, "name": user.name, "email": user.email, "enabled": user.enabled}
    return {**person, "manages": manages, "rights": rights, "roles": roles}


def _companies(tx: ReadTx, actor: Actor, may: frozenset[Action], found: Chain) -> Sequence[Relation]:
    """Companies that may receive the vehicle and do not have it yet."""
    if Action.VEHICLE_DELEGATE not in may:
        return ()
    own, holders = access.company_of(actor), {each.company_id for each in found.members}
    window = Window(limit=service.COMPANIES)
    return [
        each
        for delegated in (False, True)
        for each in candidates.of_company(tx, actor=actor, company_id=own, delegated=delegated, window=window)
        if each.to_company_id not in holders
    ]


def _page(request: Call, visitor: Visitor, shown: dict[str, Any], *, error: Refusal | None = None) -> Response[bytes]:
    return views.show(
        request,
        "delegation/chain.html",
        title=views.Plain(shown["chain"].vehicle_no),
        error=error,
        labels={"vehicleId": "portal.chain.right", "userId": "portal.chain.person"},
        words=_words(visitor),
        **shown,
    )


def _words(visitor: Visitor) -> Any:
    """A function that describes the permitted actions of a company's administrators, or of a person."""

    def of(may: Sequence[Action], person: Person | None = None) -> list[str]:
        drives = person is not None and person.authority is Authority.DRIVER
        names = (_DRIVE if drives and action is Action.VEHICLE_ASSIGN_DRIVER else action.value for action in may)
        return [visitor.say(_WORD + name) for name in names]

    return of


def _address(vehicle_id: VehicleId) -> str:
    return f"/delegation/vehicles/{vehicle_id}"


def _user_id(named: str) -> UserId:
    return UserId(fields.uuid(_USER, named))


def _role(named: str) -> UserRole:
    """Parse the name of a right. Raises `BadParameter`."""
    if named not in UserRole.__members__:
        raise BadParameter.missing(_RIGHT)
    return UserRole[named]
