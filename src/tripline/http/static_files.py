"""Files that the program carries or makes once: answered with an ETag, so that a cache keeps them and asks whether they
still hold; or, in a `Tree`, under an address that changes with their content, so that a cache need not ask.
"""

import gzip
import hashlib
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Final

import msgspec
from litestar.response import Response

from tripline.http.context import Call

_HEADERS: Final = {
    # Caches may keep the answer but must revalidate it: it changes with the program's version.
    "cache-control": "no-cache",
    "referrer-policy": "no-referrer",
}
_FOR_GOOD: Final = "public, max-age=31536000, immutable"
"""A year, the longest that caches honour."""
_TYPES: Final = {
    ".css": "text/css",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".mjs": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_PACKED: Final = (".png", ".woff2")
"""Formats that are compressed already."""


class File(msgspec.Struct, frozen=True):
    """The content of one address, the same for all clients."""

    content: bytes
    media_type: str
    etag: str


def made(content: bytes, media_type: str) -> File:
    """A file of this content."""
    return File(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:32]}"')


@cache
def of_package(package: str, path: str, media_type: str) -> File:
    """A file that is part of the program; `path` is that below the package."""
    return made(resources.files(package).joinpath(path).read_bytes(), media_type)


def answer(request: Call, file: File, *, policy: str | None = None) -> Response[bytes]:
    """200 with the file, or 304 if the client has it; `policy`: the Content-Security-Policy of a page."""
    headers = {**_HEADERS, "etag": file.etag}
    if policy is not None:
        headers["content-security-policy"] = policy
    if file.etag in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers, media_type=file.media_type)
    return Response(file.content, headers=headers, media_type=file.media_type)


class Tree:
    """The files of a folder and its subfolders under one common version, so that they may refer to each other
    by relative addresses. They are read on first use."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._address = address

    @cached_property
    def version(self) -> str:
        """Changes when any of the files does."""
        digest = hashlib.sha256()
        for name, file in sorted(self._files.items()):
            digest.update(f"{name} {file.etag}\n".encode())
        return digest.hexdigest()[:16]

    def address(self, name: str) -> str:
        """Where the file is served. Raises `KeyError` for a file that is not there."""
        if name not in self._files:
            raise KeyError(name)
        return f"{self._address}/{self.version}/{name}"

    def answer(self, request: Call, name: str, *, version: str) -> Response[bytes] | None:
        """200 or 304; None for a file that is not there.

        A page from before an upgrade requests the old version, and receives the current file.
        """
        file = self._files.get(name)
        if file is None:
            return None
        told = answer(request, file)
        if version == self.version:
            told.headers["cache-control"] = _FOR_GOOD
        if not name.endswith(_PACKED):
            told.headers["vary"] = "Accept-Encoding"
            if told.content and "gzip" in request.headers.get("accept-encoding", ""):
                told.headers["content-encoding"] = "gzip"
                told.content = _packed(file)
        return told

    @cached_property
    def _files(self) -> dict[str, File]:
        return {
            path.relative_to(self._folder).as_posix(): made(path.read_bytes(), _TYPES[path.suffix])
            for path in self._folder.rglob("*")
            if path.suffix in _TYPES
        }


@cache
def _packed(file: File) -> bytes:
    return gzip.compress(file.content, mtime=0)
