"""The gallery: every part that pages are made of, on five pages that only tests see, with the portal's own files.

The pages are in `portal/gallery/`; values, filters and texts stand in for those of `tripline.portal.frame.views`.
"""

import http.server
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jinja2
from markupsafe import Markup, escape

from tests.support import reference
from tripline.portal.frame import environment, static

PORTAL = reference.ROOT / "src/tripline/portal"
TEXTS = reference.ROOT / "src/tripline/language/portal"
PAGES = Path(__file__).with_name("portal") / "gallery"
NAMES = tuple(sorted(path.stem for path in PAGES.glob("*.html")))
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
STATES = (
    ("good", "reporting"),
    ("warning", "silent"),
    ("bad", "refused"),
    ("busy", "activating"),
    ("idle", "no sensor"),
)
LONG = "A name of exactly forty characters, yes!"
AT_MS = 1_795_412_400_000


class Link(dict[str, Any]):
    """A value whose keys are read as attributes."""

    __getattr__ = dict.__getitem__


@cache
def texts(language: str) -> dict[str, str]:
    areas = ("ui", "history")
    return {
        name: text
        for area in areas
        for name, text in tomllib.loads((TEXTS / f"{area}.{language}.toml").read_text("utf-8")).items()
    }


@cache
def templates() -> jinja2.Environment:
    """Templates of the portal and of the gallery, with filters of its own."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([PAGES, PORTAL / "templates"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "ago": ago,
        "time": lambda ms: "2026-11-23 06:40",
        "date": lambda ms: "2026-11-23",
        "number": lambda value: f"{value:,}",
        "km": lambda value: f"{value:,.1f} km",
        "as_on": environment.as_on,
    }
    made.globals["icon_of"] = icon
    return made


def icon(name: str) -> Markup:
    return Markup('<svg class="icon" aria-hidden="true"><use href="/static/icons.svg#{}"></use></svg>').format(name)


def ago(at_ms: int) -> Markup:
    exact = "2026-11-23 06:40"
    return Markup(
        '<time class="ago" datetime="2026-11-23T06:40:00Z" data-exact="{0}" tabindex="0">'
        '<span data-ago>3 min ago</span><span class="hidden-text">, {0}</span></time>'
    ).format(escape(exact))


def values(language: str, theme: str, path: str, asked: dict[str, str]) -> dict[str, Any]:
    """What a page of the gallery is rendered with."""
    said = texts(language)
    refused = "refused" in asked
    sentence = "The number is 12 characters long at most."
    error = Link(sentence=sentence, fields={"number": sentence}, code="parameter.bad")
    areas = (
        ("Fleet", "truck", ("Vehicles", "Sensors", "Directors", "Drivers", "Companies")),
        ("Delegation", "waypoints", ("Delegation",)),
        ("Import", "upload", ("Import",)),
        ("Lines", "card-sim", ("Lines",)),
        ("Pushes", "send", ("Pushes",)),
        ("Company", "building-2", ("Company",)),
    )
    links = [
        [
            Link(
                href=f"/{'list' if text == 'Vehicles' else text.lower()}",
                title=text,
                icon=icon,
                current=text == "Vehicles",
            )
            for text in inside
        ]
        for _, icon, inside in areas
    ]
    return {
        "say": lambda key, **named: said[key].format(**named),
        "static": lambda name: f"/static/{name}",
        "grounds": static.grounds(),
        "path": path,
        "here": lambda **changed: path,
        "is_open": lambda path: True,
        "leads": lambda address: False,
        "language": language,
        "theme": theme,
        "csrf_token": lambda: "token-of-the-session",
        "title": {"list": "Vehicles", "empty": "Sensors", "form": "Register a vehicle", "record": "12가3456"}.get(
            path[1:], "Sign in"
        ),
        "visitor": None
        if path == "/guest"
        else Link(name="Mina Kim", email="mina.kim@example.com", company=Link(name=LONG)),
        "navigation": ()
        if path == "/guest"
        else [
            Link(title=area[0], links=inside, current=any(link.current for link in inside))
            for area, inside in zip(areas, links, strict=True)
        ],
        "notices": (),
        "form_error": lambda: error if refused else None,
        "field_error": lambda name: error.fields.get(name) if refused else None,
        "typed": Link(number="12가3456" if refused else ""),
        "conflicting": refused,
        "long": LONG,
        "at_ms": AT_MS,
        "columns": columns(),
        "rows": rows(),
        "entries": entries(),
    }


def columns() -> list[dict[str, Any]]:
    return [
        {"text": "Registration number", "sort": "?sort=number", "sorted": "ascending"},
        {"text": "Model", "sort": "?sort=model", "sorted": None, "class": "middle"},
        {"text": "State"},
        {"text": "Driven", "class": "number wide"},
        {"text": "Driver", "class": "wide"},
        {"text": "Last word"},
    ]


def rows() -> list[dict[str, Any]]:
    return [
        {
            "id": f"v{index}",
            "number": f"{10 + index}가{3456 + index}",
            "model": LONG if index == 1 else "Sonata",
            "state": STATES[index % 5][0],
            "word": STATES[index % 5][1],
            "km": 1234.56 * index,
            "driver": "Mina Kim" if index % 3 else None,
            "at_ms": AT_MS,
        }
        for index in range(20)
    ]


def entries() -> list[dict[str, Any]]:
    return [
        {
            "at_ms": AT_MS,
            "who": "Mina Kim",
            "what": "Changed",
            "changes": [("Model", "Sonata", LONG), ("Year", None, "2024")],
            "path": "/trips/1/driver",
        },
        {"at_ms": AT_MS, "who": "mina.kim@example.com", "what": "Registered", "changes": (), "path": None},
    ]


def render(address: str) -> str:
    """The page at an address of the gallery: `/list?theme=dark&language=ko`."""
    split = urlsplit(address)
    asked = {name: each[0] for name, each in parse_qs(split.query, keep_blank_values=True).items()}
    made = templates()
    given = values(asked.get("language", "en"), asked.get("theme", "system"), split.path, asked)
    parts = made.get_template("components.html").make_module(given)
    return made.get_template(f"{split.path[1:]}.html").render(given | {"ui": parts, "part": None})


class Gallery(http.server.BaseHTTPRequestHandler):
    """Serves pages and files as the portal does, and takes every form."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path.startswith("/static/"):
            file = PORTAL / "static" / path.removeprefix("/static/")
            self._answer(200, TYPES[file.suffix], file.read_bytes())
        elif path[1:] in NAMES:
            self._answer(200, "text/html; charset=utf-8", render(self.path).encode())
        elif path == "/service-worker.js":
            self._answer(200, "text/javascript", b"// the gallery is never away")
        else:
            self._answer(404, "text/plain", b"nothing here")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._answer(303, "text/plain", b"", location="/list")

    def _answer(self, status: int, media_type: str, body: bytes, location: str | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(body)))
        self.send_header("content-security-policy", POLICY)
        if location is not None:
            self.send_header("location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(handler: Callable[..., Any] = Gallery) -> Iterator[str]:
    """The address of a gallery that is served meanwhile."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
