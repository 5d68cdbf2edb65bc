"""Roads by a Valhalla server: the driven OpenStreetMap ways, by `trace_attributes`.

We send the anchors of a trip in pieces that overlap by some anchors. Limits and names come from our own maps, by the
id of the way.

"No match" (444) has two meanings, which `locate` distinguishes. A road is nearby: the trip was off the road. There is
no road for kilometres: the server has no tiles there, and our own matcher takes the trip.

A server that is down, or whose answer cannot be read, delays trips for a time; then our own matcher takes them, and
their quality records that (`valhalla:lost`).
"""

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final, NamedTuple

import httpx
import msgspec
import numpy as np
from msgspec import Meta

from tripline.adapters.maps.roads_osm import LOST, PATIENCE_S, Answers
from tripline.domain.maps import SERVER
from tripline.ports.maps import RoadsOutage
from tripline.roads import matcher
from tripline.roads.index import DEGREE_M
from tripline.roads.ways import Ways
from tripline.scoring.drives import Drives, Flags, Floats, Ints
from tripline.scoring.rules import Column

POINTS: Final = 2_000
"""Points of a piece; a server accepts 16,000 by default."""
LENGTH_M: Final = 150_000.0
"""Of a piece; a server takes 200 km, in straight lines from point to point."""
OVERLAP: Final = 20
"""Anchors shared by two pieces; each piece decides the half in which it has more context."""
JUMP_M: Final = 2_000.0
"""Points farther apart are not connected by a server, and end a piece."""
PIECES: Final = 64
"""Pieces matched per trip; later points count as off the road."""
NEARBY_M: Final = 2_000
"""A server has tiles where it knows a road so near."""
ANSWER_MAX: Final = 8 * 2**20
"""Bytes of an answer that are read."""
STATUS_S: Final = 5.0
"""Upper bound of the wait for the server's status; a shorter timeout applies."""
STATUS_MAX: Final = 65_536
"""Bytes read of the status; that of 3.9.1 has a few hundred."""
_NEEDED: Final = ("trace_attributes", "locate")
"""Actions that a server must offer."""
REST_S: Final = 5.0
"""How long a server that failed is not asked."""
FORGOTTEN_S: Final = 120.0
"""A failure so long before the next one is another trouble."""
WAITING: Final = 4_096
"""Failed trips remembered with the time of their first failure."""
_TOO_MUCH: Final = frozenset({153, 154})
"""Error codes: too many points, too long."""
_NO_MATCH: Final = frozenset({171, 172, 442, 444})
"""No road near an end; points too far apart; no path."""
_NO_EDGE: Final = 2**64 - 1
"""Number of the edge of a point that is on none, in some versions."""
_COSTING: Final = {Column.BUS: "bus"}
"""Who may drive where; everyone else goes by `auto`."""
_FILTERS: Final = {
    "attributes": ["edge.way_id", "edge.forward", "matched.point", "matched.edge_index", "osm_changeset"],
    "action": "include",
}


class _Edge(msgspec.Struct):
    way_id: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    forward: bool
    """Told since Valhalla 3.5.1."""


class _Point(msgspec.Struct):
    lat: Annotated[float, Meta(ge=-90, le=90)]
    lon: Annotated[float, Meta(ge=-180, le=180)]
    edge_index: Annotated[int, Meta(ge=0)] | None = None


class _Trace(msgspec.Struct):
    edges: list[_Edge]
    matched_points: list[_Point]
    osm_changeset: int | None = None


class _Place(msgspec.Struct):
    edges: list[Any] | None = None


class _Status(msgspec.Struct):
    available_actions: tuple[str, ...] = _NEEDED
    """A server that does not list its actions is assumed to offer all."""


class _Refusal(msgspec.Struct):
    error_code: int


class _Piece(NamedTuple):
    """Of each point: the way, -1 for none; its direction; where on it."""

    link: Ints
    backward: Flags
    lat: Floats
    lon: Floats

    def part(self, own: slice) -> "_Piece":
        """Some of the points, as views."""
        return _Piece(self.link[own], self.backward[own], self.lat[own], self.lon[own])


class _AwayError(Exception):
    """The server gave no answer that is of use; the text says why, without its address."""


class _NoTilesError(Exception):
    """The server knows no roads there."""


class _Asking(NamedTuple):
    """The points of a trip, and by whose rules it was driven."""

    costing: str
    lat: Floats
    lon: Floats
    time_s: Floats


class Valhalla:
    """One for each process; asked on any thread."""

    def __init__(self, url: str, *, timeout_s: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        """`timeout_s`: the longest wait for an answer."""
        self._url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._monotonic = monotonic
        self._tls = ssl.create_default_context() if url.startswith("https") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._lock = threading.Lock()
        self._trouble = ("", 0.0)
        """The last failure that was more than rest, and until when the server rests after it."""
        self._away: tuple[float, float] | None = None
        """Since when all fails, and when it failed last."""
        self._waiting: dict[object, float] = {}
        """Since when trips wait."""

    def __call__(self, drives: Drives, trips: Ints) -> Answers:
        """Match these trips of the drives. Raises `RoadsOutage`."""
        trace = matcher.trace_of(drives)
        anchors, samples = trace.anchors, trace.samples
        lat, lon, size = anchors.lat, anchors.lon, anchors.sample.size
        time_ms, trip = samples.time_ms[anchors.sample], samples.trip[anchors.sample]
        found = _Piece(np.full(size, -1, np.int64), np.zeros(size, np.bool_), lat.copy(), lon.copy())
        told = np.zeros(len(drives), np.bool_)
        maps: list[tuple[str, ...]] = [()] * len(drives)
        starts = np.searchsorted(trip, np.arange(len(drives) + 1)).tolist()
        for each in trips.tolist():
            own = slice(starts[each], starts[each + 1])
            costing = _COSTING.get(Column(int(drives.column[each])), "auto")
            asking = _Asking(costing, lat[own], lon[own], (time_ms[own] - time_ms[own][:1]) / 1_000.0)
            told[each], maps[each] = self._trip(asking, found.part(own))
        return Answers(Ways(trip, *found), told, maps)

    def reach(self) -> None:
        """Request the server's status, independently of the pause after a failure. Takes seconds. Raises
        `RoadsOutage`."""
        try:
            status = self._received("status", b"", _Status, within_s=min(self._timeout_s, STATUS_S), most=STATUS_MAX)
        except _AwayError as error:
            raise RoadsOutage(str(error)) from error
        if not isinstance(status, _Status):
            raise RoadsOutage(f"Valhalla refused the status request with its error {status}.")
        lacking = [action for action in _NEEDED if action not in status.available_actions]
        if lacking:
            raise RoadsOutage(f"Valhalla does not offer {' or '.join(lacking)}.")

    def _trip(self, asking: _Asking, found: _Piece) -> tuple[bool, tuple[str, ...]]:
        """Match a trip and fill in its part of `found`; return false if our own matcher must take it, and its quality
        entries."""
        if not asking.lat.size:
            return True, ()
        key = (float(asking.lat[0]), float(asking.lon[0]), asking.lat.size)
        changeset: int | None = None
        try:
            for begin, end, known in _pieces(asking.lat, asking.lon):
                piece, changeset = self._piece(asking, begin, end)
                for column, told in zip(found, piece, strict=True):
                    column[begin + known : end] = told[known:]
        except _NoTilesError:
            self._answered(key)
            return False, ()
        except _AwayError as error:
            if not self._has_patience_passed(key):
                raise RoadsOutage(str(error)) from error
            return False, (f"{SERVER}:{LOST}",)
        self._answered(key)
        return True, (f"{SERVER}:{changeset or 0}",) if (found.link >= 0).any() else ()

    def _piece(self, asking: _Asking, begin: int, end: int) -> tuple[_Piece, int | None]:
        """Match points; return them with the changeset of the server's map."""
        points = [
            {"lat": lat, "lon": lon, "time": time_s}
            for lat, lon, time_s in zip(
                asking.lat[begin:end].round(7).tolist(),
                asking.lon[begin:end].round(7).tolist(),
                asking.time_s[begin:end].tolist(),
                strict=True,
            )
        ]
        body = {"shape": points, "costing": asking.costing, "shape_match": "map_snap", "filters": _FILTERS}
        told = self._asked("trace_attributes", body, _Trace)
        if isinstance(told, _Trace):
            return _read(told, asking.lat[begin:end], asking.lon[begin:end]), told.osm_changeset
        if told in _TOO_MUCH and end - begin >= 2 * OVERLAP:
            middle, half = (begin + end) // 2, OVERLAP // 2
            first, changeset = self._piece(asking, begin, middle + half)
            second, _ = self._piece(asking, middle - half, end)
            halves = zip(first, second, strict=True)
            return _Piece(*(np.concatenate([a[:-half], b[half:]]) for a, b in halves)), changeset
        if told not in _NO_MATCH | _TOO_MUCH:
            raise _AwayError(f"Valhalla refused a trip with its error {told}.")
        if not self._has_tiles(asking, begin, end):
            raise _NoTilesError
        nothing = np.full(end - begin, -1, np.int64)
        return _Piece(nothing, nothing > 0, asking.lat[begin:end], asking.lon[begin:end]), None

    def _has_tiles(self, asking: _Asking, begin: int, end: int) -> bool:
        """True if there is a road near the first, the middle or the last of the points."""
        places = [
            {"lat": float(asking.lat[at]), "lon": float(asking.lon[at]), "search_cutoff": NEARBY_M}
            for at in (begin, (begin + end) // 2, end - 1)
        ]
        told = self._asked("locate", {"locations": places, "costing": asking.costing}, list[_Place])
        if isinstance(told, list):
            return any(place.edges for place in told)
        if told not in _NO_MATCH:
            raise _AwayError(f"Valhalla refused the locate request with its error {told}.")
        return False

    def _asked(self, action: str, body: object, form: Any) -> Any:
        """An answer, or the error code of a refusal. Raises `_AwayError`."""
        said, until_s = self._trouble
        if self._monotonic() < until_s:
            raise _AwayError(said)
        try:
            content = msgspec.json.encode(body)
            return self._received(action, content, form, within_s=self._timeout_s, most=ANSWER_MAX)
        except _AwayError as error:
            self._trouble = str(error), self._monotonic() + REST_S
            raise

    def _received(self, action: str, body: bytes, form: Any, *, within_s: float, most: int) -> Any:
        """An answer of at most so many bytes, or the error code of a refusal. Raises `_AwayError`."""
        client = httpx.Client(timeout=within_s, follow_redirects=False, trust_env=False, verify=self._tls)
        # The client's own limit is for each step; a server that sends byte by byte never meets it.
        latest = threading.Timer(within_s, client.close)
        latest.start()
        try:
            with client.stream(
                "POST" if body else "GET",
                f"{self._url}/{action}",
                content=body,
                headers={"Accept-Encoding": "identity", "Content-Type": "application/json"},
            ) as response:
                if response.status_code not in (httpx.codes.OK, httpx.codes.BAD_REQUEST):
                    raise _AwayError(f"Valhalla answered with HTTP status {response.status_code}.")
                content = _content(response, most)
            if response.status_code == httpx.codes.OK:
                return msgspec.json.decode(content, type=form)
            return msgspec.json.decode(content, type=_Refusal).error_code
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _AwayError("Valhalla's answer cannot be read.") from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            # The error's text may quote the address, so only its type is reported. Invalid host names raise
            # `UnicodeError`.
            raise _AwayError(f"Valhalla cannot be reached: {type(error).__name__}.") from None
        finally:
            latest.cancel()
            client.close()

    def _answered(self, key: object) -> None:
        with self._lock:
            self._away = None
            self._waiting.pop(key, None)

    def _has_patience_passed(self, key: object) -> bool:
        """True if the trip, or the server as a whole, has been failing for longer than trips wait."""
        now_s = self._monotonic()
        with self._lock:
            since_s, last_s = self._away or (now_s, now_s)
            if now_s - last_s > FORGOTTEN_S:
                since_s = now_s
            self._away = since_s, now_s
            waiting_s = self._waiting.setdefault(key, now_s)
            if len(self._waiting) > WAITING:
                del self._waiting[next(iter(self._waiting))]
        return now_s - min(since_s, waiting_s) >= PATIENCE_S


def _content(response: httpx.Response, most: int) -> bytes:
    """The body. Raises `_AwayError` above so many bytes, without reading the rest."""
    content = bytearray()
    for chunk in response.iter_raw(65_536):
        content += chunk
        if len(content) > most:
            raise _AwayError("Valhalla's answer is too long.")
    return bytes(content)


def _pieces(lat: Floats, lon: Floats) -> Iterator[tuple[int, int, int]]:
    """The pieces of a trip: begin, end, and the number of leading points that the previous piece decided."""
    north = np.diff(lat) * DEGREE_M
    east = np.diff(lon) * DEGREE_M * np.cos(np.radians(lat[1:]))
    steps = np.hypot(north, east)
    driven = np.append(0.0, np.cumsum(steps))
    ends = np.append(np.flatnonzero(steps > JUMP_M) + 1, lat.size)
    begin, known, told = 0, 0, 0
    while begin < lat.size and told < PIECES:
        run_end = int(ends[np.searchsorted(ends, begin, side="right")])
        far = int(np.searchsorted(driven, driven[begin] + LENGTH_M))
        end = min(run_end, begin + POINTS, max(far, begin + 2 * OVERLAP))
        # A single point cannot be matched.
        if end - begin >= 2:
            yield begin, end, known
            told += 1
        begin, known = (end, 0) if end == run_end else (end - OVERLAP, OVERLAP // 2)


def _read(told: _Trace, lat: Floats, lon: Floats) -> _Piece:
    """Convert an answer to points. Raises `_AwayError` when it does not fit the request."""
    if len(told.matched_points) != lat.size:
        raise _AwayError("Valhalla's answer does not match the requested points.")
    piece = _Piece(np.full(lat.size, -1, np.int64), np.zeros(lat.size, np.bool_), lat.copy(), lon.copy())
    for at, point in enumerate(told.matched_points):
        if point.edge_index is None or point.edge_index == _NO_EDGE:
            continue
        if point.edge_index >= len(told.edges):
            raise _AwayError("Valhalla's answer refers to edges that it does not contain.")
        edge = told.edges[point.edge_index]
        piece.link[at], piece.backward[at] = edge.way_id, not edge.forward
        piece.lat[at], piece.lon[at] = point.lat, point.lon
    return piece
