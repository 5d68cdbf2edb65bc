"""Files under an address that changes with them."""

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tripline.http.static_files import Tree


def asked(**headers: str) -> Any:
    return SimpleNamespace(headers=headers)


def tree(folder: Path, style: str = "a{}") -> Tree:
    (folder / "icons").mkdir(exist_ok=True)
    (folder / "page.css").write_text(style)
    (folder / "icons" / "mark.png").write_bytes(b"png")
    (folder / "notes.md").write_text("not served")
    return Tree(folder, "/static")


def test_address_changes_with_any_of_the_files(tmp_path: Path) -> None:
    before, after = tree(tmp_path).address("icons/mark.png"), tree(tmp_path, "b{}").address("icons/mark.png")

    assert before != after
    assert tree(tmp_path, "b{}").address("icons/mark.png") == after


@pytest.mark.parametrize("name", ["none.css", "notes.md", "icons", ""])
def test_what_is_not_served_has_no_address(tmp_path: Path, name: str) -> None:
    with pytest.raises(KeyError):
        tree(tmp_path).address(name)
    assert tree(tmp_path).answer(asked(), name, version="x") is None


def test_file_is_kept_for_good_under_its_version_alone(tmp_path: Path) -> None:
    files = tree(tmp_path)
    known, older = (files.answer(asked(), "page.css", version=each) for each in (files.version, "older"))

    assert known is not None
    assert older is not None
    assert known.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (older.content, older.headers["cache-control"]) == (b"a{}", "no-cache")


def test_text_is_packed_for_whoever_unpacks_it(tmp_path: Path) -> None:
    files = tree(tmp_path)
    packing = {"accept-encoding": "gzip, br"}
    style = files.answer(asked(**packing), "page.css", version=files.version)
    picture = files.answer(asked(**packing), "icons/mark.png", version=files.version)

    assert style is not None
    assert picture is not None
    assert (gzip.decompress(style.content), style.headers["content-encoding"]) == (b"a{}", "gzip")
    assert (picture.content, "content-encoding" in picture.headers) == (b"png", False)


def test_file_that_is_known_is_not_sent_again(tmp_path: Path) -> None:
    files = tree(tmp_path)
    first = files.answer(asked(), "page.css", version=files.version)
    assert first is not None

    again = files.answer(
        asked(**{"if-none-match": first.headers["etag"], "accept-encoding": "gzip"}), "page.css", version="older"
    )

    assert again is not None
    assert (again.status_code, again.content) == (304, b"")
