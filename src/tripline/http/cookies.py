"""The cookie of a browser's session: its name, its attributes, and how it is found in a request.

No script reads it (`HttpOnly`), no other site sends it with a change (`SameSite=Lax`). Under HTTPS it never leaves over
plain HTTP (`Secure`), and its name begins with `__Host-`: a browser takes such a cookie from this very host alone, so
no neighbouring name can plant one.

Not here: what it holds (`services/accounts/browser_sessions.py`), what it is good for (`authentication.py`).
"""

from typing import Final

from tripline.http.rim import Call, rim_of
from tripline.services.accounts import browser_sessions
from tripline.services.accounts.browser_sessions import Cookie

NAME: Final = "tripline"
SECURE_NAME: Final = f"__Host-{NAME}"
_SCHEME: Final = "x-forwarded-proto"


def found(request: Call) -> Cookie | None:
    """The cookie of the request; None without one, or with two that differ: then one of them is somebody else's."""
    name = _name(request)
    texts = {
        value.strip()
        for header, sent in request.scope["headers"]
        if header == b"cookie"
        for pair in sent.decode("latin-1").split(";")
        for key, _, value in [pair.partition("=")]
        if key.strip() == name
    }
    return browser_sessions.cookie_in(texts.pop()) if len(texts) == 1 else None


def given(request: Call, cookie: Cookie) -> dict[str, str]:
    """The header that gives a browser its cookie."""
    life_s = rim_of(request).browsers.settings.longest_s
    return {"set-cookie": f"{_name(request)}={cookie.text}; Max-Age={life_s}; {_attributes(request)}"}


def taken(request: Call) -> dict[str, str]:
    """The header that takes a browser's cookie away."""
    return {"set-cookie": f"{_name(request)}=; Max-Age=0; {_attributes(request)}"}


def is_secure(request: Call) -> bool:
    """Whether the browser came by HTTPS: to us, or to the proxy in front of us as it says itself."""
    if request.scope["scheme"] == "https":
        return True
    rim = rim_of(request)
    if not rim.behind_proxy:
        return False
    said = ",".join(request.headers.getall(_SCHEME, [])).rpartition(",")[2].strip().lower()
    return said == "https" if said else rim.public_url.startswith("https:")


def _name(request: Call) -> str:
    return SECURE_NAME if is_secure(request) else NAME


def _attributes(request: Call) -> str:
    attributes = "Path=/; HttpOnly; SameSite=Lax"
    return f"{attributes}; Secure" if is_secure(request) else attributes
