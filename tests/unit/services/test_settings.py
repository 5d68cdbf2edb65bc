"""The settings in force, as they are shown."""

from operator import attrgetter
from pathlib import Path

import pytest

from tripline.config import Config
from tripline.config import files as config_files
from tripline.config.files import Origin
from tripline.services import settings
from tripline.services.settings import InForce


def shown(tmp_path: Path, file: str = "", **variables: str) -> dict[str, InForce]:
    named = tmp_path / "tripline.toml"
    named.write_text(file)
    given = {"file": named, "variables": variables, "flags": {"api_port": 1, "host": None}}
    found = settings.in_force(config_files.load(**given), config_files.origins(**given))
    return {each.name: each for each in found}


def test_every_setting_is_shown_with_its_value_and_meaning(tmp_path: Path) -> None:
    found = shown(tmp_path)

    assert list(found) == [each.name for each in config_files.settings()]
    assert all(each.description for each in found.values())
    meaning = "least severity written (one of debug, info, warning, error)"
    assert found["log.level"] == InForce("log.level", '"info"', False, Origin.DEFAULT, meaning)
    assert found["device_plain_port"].value is None


def test_origin_is_that_of_the_strongest_place_that_names_a_setting(tmp_path: Path) -> None:
    found = shown(tmp_path, 'time_zone = "UTC"\napi_port = 2\n[log]\nlevel = "error"\n', TRIPLINE_LOG_LEVEL="debug")

    origins = {each.name: (each.origin, each.value) for each in found.values() if each.origin is not Origin.DEFAULT}
    assert origins == {
        "time_zone": (Origin.FILE, '"UTC"'),
        "log.level": (Origin.VARIABLE, '"debug"'),
        "api_port": (Origin.FLAG, "1"),
    }


@pytest.mark.parametrize(
    ("name", "value", "as_shown"),
    [
        ("mail.password", "hush", None),
        ("bus.password", "hush", None),
        ("carrier.token", "hush", None),
        ("store.url", "postgresql://hush:hu@sh@db.example/fleet?password=hush", '"postgresql://…@db.example/fleet?…"'),
        ("store.url", "postgresql://db.example/fleet", '"postgresql://db.example/fleet"'),
        ("carrier.url", "https://hush@carrier.example/api#hush", '"https://…@carrier.example/api?…"'),
    ],
)
def test_no_password_is_shown(tmp_path: Path, name: str, value: str, as_shown: str | None) -> None:
    variable = next(each.variable for each in config_files.settings() if each.name == name)

    found = shown(tmp_path, **{variable: value})[name]

    assert (found.value, found.hidden) == (as_shown, as_shown is None)
    assert "hush" not in repr(found)


def test_whatever_is_named_like_a_secret_is_marked_as_one() -> None:
    names = {each.name for each in config_files.settings() if isinstance(attrgetter(each.name)(Config()), str)}

    assert {name for name in names if name.endswith(("password", "token", "secret"))} == {
        each.name for each in config_files.settings() if each.secret
    }
