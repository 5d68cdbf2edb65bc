"""The cookies of a browser: its session, and the mark of an earlier sign-in. Names, attributes, and reading them.

No script reads it (`HttpOnly`), no other site sends it with a change (`SameSite=Lax`). Under HTTPS it never leaves over
plain HTTP (`Secure`), and its name begins with `__Host-`: a browser takes such a cookie from this very host alone, so
no neighbouring name can plant one.

Not here: its content (`services/accounts/sessions.py`), authentication by it (`authentication.py`).
"""

from typing import Final

from litestar.datastructures import cookie as litestar_cookie

from tripline.http.context import Call, accounts_of, process_of
from tripline.services.accounts import sessions
from tripline.services.accounts.sessions import Cookie

NAME: Final = "tripline"
KNOWN: Final = "tripline-known"
_KNOWN_S: Final = 180 * 86_400
_SCHEME: Final = "x-forwarded-proto"


def found(request: Call) -> Cookie | None:
    """The cookie of the request; None without one, or with two that differ, since one may be an attacker's."""
    text = _text(request, _name(request))
    return None if text is None else sessions.cookie_in(text)


def mark(request: Call) -> str:
    """The mark of an earlier sign-in with this browser (`Tokens.mark`); empty without one."""
    text = _text(request, _name(request, KNOWN))
    return text if text is not None and text.isascii() else ""


def marked(request: Call, mark: str) -> litestar_cookie.Cookie:
    """The cookie of a browser that signed in. It grants no access (`services/accounts/hash_turns.py`)."""
    return plain(request, _name(request, KNOWN), mark, kept_s=_KNOWN_S)


def plain(request: Call, name: str, value: str, *, kept_s: int) -> litestar_cookie.Cookie:
    """A cookie that keeps something for the pages, out of reach of scripts."""
    secure = is_secure(request)
    return litestar_cookie.Cookie(
        key=name, value=value, max_age=kept_s, path="/", httponly=True, secure=secure, samesite="lax"
    )


def given(request: Call, cookie: Cookie) -> dict[str, str]:
    """The header that gives a browser its cookie."""
    life_s = accounts_of(request).browsers.settings.longest_s
    return {"set-cookie": f"{_name(request)}={cookie.text}; Max-Age={life_s}; {_attributes(request)}"}


def taken(request: Call) -> dict[str, str]:
    """The header that takes a browser's cookie away."""
    return {"set-cookie": f"{_name(request)}=; Max-Age=0; {_attributes(request)}"}


def is_secure(request: Call) -> bool:
    """True if the browser used HTTPS, to us or, as a trusted proxy reports, to the proxy."""
    if request.scope["scheme"] == "https":
        return True
    if not process_of(request).behind_proxy:
        return False
    said = ",".join(request.headers.getall(_SCHEME, [])).rpartition(",")[2].strip().lower()
    return said == "https" if said else process_of(request).public_url.startswith("https:")


def origin(request: Call) -> str:
    """The address of this server as the request has it: tiles of other origins are none that our pages may load."""
    host = request.headers.get("host", "")
    if process_of(request).behind_proxy:
        host = request.headers.get("x-forwarded-host", host)
    return f"{'https' if is_secure(request) else 'http'}://{host}"


def public_address(request: Call) -> str:
    """The address for links to us: `accounts.public_url`, else as the request has it."""
    return process_of(request).public_url.rstrip("/") or origin(request)


def _text(request: Call, name: str) -> str | None:
    texts = {
        value.strip()
        for header, sent in request.scope["headers"]
        if header == b"cookie"
        for pair in sent.decode("latin-1").split(";")
        for key, _, value in [pair.partition("=")]
        if key.strip() == name
    }
    return texts.pop() if len(texts) == 1 else None


def _name(request: Call, name: str = NAME) -> str:
    return f"__Host-{name}" if is_secure(request) else name


def _attributes(request: Call) -> str:
    attributes = "Path=/; HttpOnly; SameSite=Lax"
    return f"{attributes}; Secure" if is_secure(request) else attributes
