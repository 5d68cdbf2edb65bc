"""The simulated fleet's company at the REST interface: registers and mounts missing vehicles, counts stored records.

It uses only published operations, like a customer's program. Registered objects have recognisable names, and existing
ones are used again.
"""

import asyncio
import contextlib
import csv
import io
import random
import string
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import httpx
import msgspec

from tripline.simulator.drafts import Kind
from tripline.simulator.payloads import TYPES

PLACEHOLDER: Final = "13814000-1dd2-11b2-8080-808080808080"
"""The placeholder id for none (spec/interface, Conventions)."""
ACTIVATED_WITHIN_S: Final = 30.0
_TIMEOUT_S: Final = 60.0
_PAGE: Final = 1_000
_AT_ONCE: Final = 8
_POLL_S: Final = 0.2
_ATTEMPTS: Final = 5
_NOT_CONNECTED: Final = 409
_UNAUTHORISED: Final = 401
_TOKEN_LENGTH: Final = 20
T = TypeVar("T")
A = TypeVar("A")


class OfficeError(Exception):
    """A request to the platform failed; the text is shown as one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """A sensor, and its current or future vehicle."""

    sensor_id: str
    vehicle_id: str
    plate: str
    device: str
    token: str = field(repr=False)
    is_mounted: bool
    needs_activation: bool
    is_new: bool = False
    """The vehicle was just registered: it has no stored records."""


class Before(msgspec.Struct, frozen=True):
    """A vehicle's newest stored trip and event before the drives; None: none."""

    trip_id: str | None = None
    event_id: str | None = None


class Office:
    """A company's administrator, logged in."""

    def __init__(self, http: httpx.AsyncClient, email: str, password: str) -> None:
        self._http = http
        self._login = {"username": email, "password": password}
        self._company_id = ""
        self._gate = asyncio.Semaphore(_AT_ONCE)

    @staticmethod
    @contextlib.asynccontextmanager
    async def opened(api: str, email: str, password: str) -> AsyncIterator["Office"]:
        """Log in until the block ends. Raises `OfficeError`."""
        async with httpx.AsyncClient(base_url=api, timeout=_TIMEOUT_S, trust_env=False) as http:
            office = Office(http, email, password)
            await office._log_in()
            account = await office._json("GET", "/api/auth/user")
            office._company_id = account["companyId"]["id"]
            if office._company_id == PLACEHOLDER:
                raise OfficeError(f"{email} belongs to no company: log in as a company's administrator.")
            yield office

    async def fleet(self, prefix: str, types: Sequence[str], *, activation_share: float = 0.0) -> list[Mounted]:
        """The fleet's sensors and vehicles, in order; missing ones are registered.

        `types` has one entry for each vehicle, used for missing ones.
        """
        plates = [f"{prefix}-{number:05d}" for number in range(1, len(types) + 1)]
        known, registered = await self._found(prefix)
        missing = [(plate, 1_000, "GASOLINE", "AUTO") for plate in plates if plate not in known]
        await self._bulk("vehicles", ("vehicleNo", "mileage", "fuelType", "missionType"), missing)
        activated = _spread(activation_share, len(plates))
        new = [
            (plate, device, _token(), str(needs).lower())
            for plate, device, needs in zip(plates, types, activated, strict=True)
            if plate not in registered
        ]
        await self._bulk("sensors", ("serialNo", "type", "credentialsId", "activationRequired"), new)
        vehicles, sensors = await self._found(prefix)
        return [_mounted(plate, vehicles[plate], sensors[plate], is_new=plate not in known) for plate in plates]

    async def of_tokens(self, tokens: Sequence[str]) -> list[Mounted]:
        """The company's sensors with these tokens, in order. Raises `OfficeError` if one is on no vehicle."""
        sensors = await self._named("/api/tre/v1/sensors", "serialNo", "")
        by_token = {sensor["credentialsId"]: sensor for sensor in sensors.values()}
        found = []
        for number, token in enumerate(tokens, start=1):
            sensor = by_token.get(token)
            if sensor is None or sensor["vehicleId"]["id"] == PLACEHOLDER:
                raise OfficeError(f"The token in line {number} is of no sensor that the company has on a vehicle.")
            found.append(_mounted(sensor["vehicleNo"] or sensor["serialNo"], {}, sensor))
        return found

    async def mount(self, boxes: Sequence[Mounted]) -> None:
        """Mount the unmounted sensors that need no activation."""
        waiting = [box for box in boxes if not box.is_mounted and not box.needs_activation]
        await self._each(waiting, lambda box: self._json("POST", _mount_path(box)))

    async def activate(self, box: Mounted) -> str | None:
        """Mount a sensor whose connected device must be activated; return None, or the reason for failure."""
        for _ in range(_ATTEMPTS):
            answer = await self._request("POST", _mount_path(box))
            if answer.status_code != _NOT_CONNECTED:
                break
            await asyncio.sleep(_POLL_S)
        try:
            accepted(answer)
            async with asyncio.timeout(ACTIVATED_WITHIN_S):
                while not await self._is_activated(box):  # noqa: ASYNC110  REST has no notification for it
                    await asyncio.sleep(_POLL_S)
        except OfficeError as error:
            return str(error)
        except TimeoutError:
            return f"no successful result within {ACTIVATED_WITHIN_S:g} s"
        return None

    async def _is_activated(self, box: Mounted) -> bool:
        sensor = await self._json("GET", f"/api/tre/v1/sensor/{box.sensor_id}")
        return bool(sensor["status"] == "ACTIVATED")

    async def activate_all(self, boxes: Sequence[Mounted]) -> list[str | None]:
        """Run `activate` on each."""
        return await self._each(boxes, self.activate)

    async def before(self, boxes: Sequence[Mounted]) -> list[Before]:
        """The newest stored records of each vehicle."""
        return await self._each(boxes, self._before)

    async def stored(self, boxes: Sequence[tuple[Mounted, Before]]) -> list[dict[Kind, int]]:
        """The number of new records of each vehicle."""
        return await self._each(boxes, self._stored)

    async def _before(self, box: Mounted) -> Before:
        if box.is_new:
            return Before()
        newest = []
        for what in ("trips", "events"):
            page = await self._json("GET", f"/api/tre/v1/vehicle/{box.vehicle_id}/{what}", limit=1)
            newest.append(page["data"][0]["id"]["id"] if page["data"] else None)
        return Before(*newest)

    async def _stored(self, asked: tuple[Mounted, Before]) -> dict[Kind, int]:
        box, before = asked
        path = f"/api/tre/v1/vehicle/{box.vehicle_id}"
        trips = [trip async for trip in self._records(f"{path}/trips", before.trip_id)]
        microtrips = 0
        for trip in trips:
            async for _ in self._records(f"/api/tre/v1/trip/{trip['id']['id']}/microtrips"):
                microtrips += 1
        events = 0
        async for _ in self._records(f"{path}/events", before.event_id):
            events += 1
        with_message = sum(trip["payload"] is not None for trip in trips)
        return {Kind.MICROTRIP: microtrips, Kind.TRIP: with_message, Kind.EVENT: events}

    async def _records(self, path: str, after: str | None = None) -> AsyncIterator[dict[str, Any]]:
        """Every record of a list that is newer than the one with this id, oldest first."""
        query: dict[str, Any] = {"limit": _PAGE, "ascOrder": "true"}
        has_next = True
        while has_next:
            page = await self._json("GET", path, **query, **({} if after is None else {"idOffset": after}))
            for record in page["data"]:
                yield record
            has_next = page["hasNext"]
            after = page["nextPageLink"]["idOffset"] if has_next else None

    async def _found(self, prefix: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The vehicles by number and the sensors by serial number, with this prefix."""
        vehicles = self._named(f"/api/tre/v1/company/{self._company_id}/vehicles", "vehicleNo", f"{prefix}-")
        sensors = self._named("/api/tre/v1/sensors", "serialNo", f"{prefix}-")
        return await vehicles, await sensors

    async def _named(self, path: str, key: str, prefix: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        query: dict[str, Any] = {"limit": _PAGE} | ({"textSearch": prefix} if prefix else {})
        while True:
            page = await self._json("GET", path, **query)
            found |= {record[key]: record for record in page["data"]}
            if not page["hasNext"]:
                return found
            link = page["nextPageLink"]
            query |= {"textOffset": link["textOffset"], "idOffset": link["idOffset"]}

    async def _bulk(self, what: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        if not rows:
            return
        text = io.StringIO()
        csv.writer(text).writerows([columns, *rows])
        answer = await self._request(
            "POST", f"/api/tre/v1/{what}/bulk", content=text.getvalue(), headers={"Content-Type": "text/csv"}
        )
        report = accepted(answer)
        if report["errorCount"]:
            raise OfficeError(f"{what} could not be registered: {report['errors'][0]['message']}")

    async def _each(self, items: Sequence[A], work: Callable[[A], Awaitable[T]]) -> list[T]:
        """Run the work on all items, some at the same time. Raises only the first error."""

        async def gated(item: A) -> T:
            async with self._gate:
                return await work(item)

        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(gated(item)) for item in items]
        except* (OfficeError, httpx.HTTPError) as group:
            raise group.exceptions[0] from None
        return [task.result() for task in running]

    async def _log_in(self) -> None:
        self._http.headers.pop("X-Authorization", None)
        answer = accepted(await self._sent("POST", "/api/auth/login", json=self._login))
        self._http.headers["X-Authorization"] = f"Bearer {answer['token']}"

    async def _json(self, method: str, path: str, **query: Any) -> Any:
        return accepted(await self._request(method, path, params=query))

    async def _request(self, method: str, path: str, **how: Any) -> httpx.Response:
        """The answer, after another log-in if the session has expired."""
        answer = await self._sent(method, path, **how)
        if answer.status_code == _UNAUTHORISED:
            await self._log_in()
            answer = await self._sent(method, path, **how)
        return answer

    async def _sent(self, method: str, path: str, **how: Any) -> httpx.Response:
        try:
            return await self._http.request(method, path, **how)
        except httpx.HTTPError as error:
            raise OfficeError(f"{self._http.base_url} does not answer: {error or type(error).__name__}") from None


def accepted(answer: httpx.Response) -> Any:
    """The JSON of a successful answer. Raises `OfficeError`."""
    try:
        record = answer.json()
    except ValueError:
        raise OfficeError(f"{answer.request.url.path} was answered {answer.status_code} without JSON.") from None
    if answer.status_code != httpx.codes.OK:
        message = record.get("message") if isinstance(record, dict) else None
        raise OfficeError(f"{answer.request.method} {answer.request.url.path}: {message or answer.status_code}")
    return record


def _mounted(plate: str, vehicle: dict[str, Any], sensor: dict[str, Any], *, is_new: bool = False) -> Mounted:
    on_vehicle = sensor["vehicleId"]["id"]
    device = {"OBD2": "OBD"}.get(sensor["type"], sensor["type"])
    if device not in TYPES:
        raise OfficeError(f"The sensor {plate} is of type {sensor['type']}, which is not simulated.")
    if sensor["credentialsId"] is None:
        raise OfficeError(f"The token of the sensor {plate} is not shown to this account.")
    is_mounted = on_vehicle != PLACEHOLDER
    return Mounted(
        sensor_id=sensor["id"]["id"],
        vehicle_id=on_vehicle if is_mounted else vehicle["id"]["id"],
        plate=plate,
        device=device,
        token=sensor["credentialsId"],
        is_mounted=is_mounted,
        needs_activation=sensor["activationRequired"],
        is_new=is_new,
    )


def _mount_path(box: Mounted) -> str:
    return f"/api/tre/v1/sensor/{box.sensor_id}/vehicle/{box.vehicle_id}"


def _token() -> str:
    return "".join(random.SystemRandom().choices(string.ascii_letters + string.digits, k=_TOKEN_LENGTH))


def _spread(share: float, count: int) -> list[bool]:
    """Mark this share of `count`, evenly spread."""
    return [int(number * share) > int((number - 1) * share) for number in range(1, count + 1)]
