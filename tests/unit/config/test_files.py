"""Settings: where they come from, which one decides, and what refuses to start."""

from pathlib import Path

import pytest

from tripline import config
from tripline.config import files as config_files


def load(toml: str | None = None, tmp_path: Path | None = None, **given) -> config.Config:
    file = None
    if toml is not None:
        assert tmp_path is not None
        file = tmp_path / "tripline.toml"
        file.write_text(toml, "utf-8")
    return config_files.load(file=file, variables=given.get("variables", {}), flags=given.get("flags", {}))


def refusal(toml: str | None = None, tmp_path: Path | None = None, **given) -> str:
    with pytest.raises(config_files.WrongSettingError) as caught:
        load(toml, tmp_path, **given)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_settings_without_any_source_are_the_defaults():
    assert load() == config.Config()


def test_default_file_read_back_gives_the_defaults(tmp_path):
    assert load(config_files.default_file(), tmp_path) == config.Config()


def test_default_file_names_every_setting_with_its_variable():
    text = config_files.default_file()

    assert [s.name for s in config_files.settings() if f"[{s.variable}]" not in text] == []


def test_settings_are_read_of_their_types_once():
    assert config_files.settings() is config_files.settings()


def test_every_setting_has_a_meaning():
    assert [s.name for s in config_files.settings() if not s.description] == []


def test_fixed_variables_reach_their_settings():
    variables = {
        "TRIPLINE_DATA": "/srv/tripline",
        "TRIPLINE_HOST": "::1",
        "TRIPLINE_API_PORT": "1",
        "TRIPLINE_ANALYTICS_PORT": "2",
        "TRIPLINE_DEVICE_PORT": "3",
        "TRIPLINE_DEVICE_PLAIN_PORT": "4",
        "TRIPLINE_STORE_URL": "",
        "TRIPLINE_BUS_URL": "",
        "TRIPLINE_HTTPS": "true",
        "TRIPLINE_TLS_CERT": "/c.pem",
        "TRIPLINE_TLS_KEY": "/k.pem",
    }

    assert load(variables=variables) == config.Config(
        data=Path("/srv/tripline"),
        host="::1",
        api_port=1,
        analytics_port=2,
        device_port=3,
        device_plain_port=4,
        https=True,
        tls=config.Tls(cert="/c.pem", key="/k.pem"),
    )


def test_flags_win_over_variables_and_variables_over_the_file(tmp_path):
    loaded = load(
        "api_port = 1\nanalytics_port = 1\ndevice_port = 1\n[ingest]\nbatch = 7\n",
        tmp_path,
        variables={"TRIPLINE_ANALYTICS_PORT": "2", "TRIPLINE_DEVICE_PORT": "2"},
        flags={"device_port": 3, "data": None},
    )

    assert loaded == config.Config(api_port=1, analytics_port=2, device_port=3, ingest=config.Ingest(batch=7))


def test_other_programs_variables_are_not_read():
    assert load(variables={"PATH": "/bin", "MY_TRIPLINE_HOST": "x"}) == config.Config()


def test_unknown_key_names_the_nearest(tmp_path):
    assert refusal("api_prot = 1", tmp_path) == (
        f"{tmp_path}/tripline.toml: unknown setting `api_prot`; the nearest known is api_port."
    )


def test_unknown_key_of_a_section_names_the_nearest(tmp_path):
    assert refusal("[ingest]\nbatsch = 1", tmp_path) == (
        f"{tmp_path}/tripline.toml: unknown setting `ingest.batsch`; the nearest known is ingest.batch."
    )


def test_unknown_section_refuses(tmp_path):
    assert "unknown setting `ingset`" in refusal("[ingset]\nbatch = 1", tmp_path)


def test_section_written_as_a_value_refuses(tmp_path):
    assert "unknown setting `ingest`" in refusal("ingest = 3", tmp_path)


def test_unknown_variable_names_the_nearest():
    assert refusal(variables={"TRIPLINE_API_PRT": "1"}) == (
        "Unknown variable TRIPLINE_API_PRT; the nearest known is TRIPLINE_API_PORT."
    )


@pytest.mark.parametrize(("port", "fits"), [("-1", False), ("0", True), ("65535", True), ("65536", False)])
def test_port_is_between_0_and_65535(port, fits):
    variables = {"TRIPLINE_API_PORT": port}

    if fits:
        assert load(variables=variables).api_port == int(port)
    else:
        assert refusal(variables=variables).startswith("TRIPLINE_API_PORT: ")


def test_value_of_the_wrong_sort_names_its_origin(tmp_path):
    assert refusal(variables={"TRIPLINE_HTTPS": "maybe"}).startswith("TRIPLINE_HTTPS: ")
    assert refusal('[store]\nreaders = "many"', tmp_path).startswith(f"{tmp_path}/tripline.toml: store.readers: ")
    assert refusal(flags={"api_port": 70_000}).startswith("--api-port: ")


def test_file_that_is_missing_refuses(tmp_path):
    with pytest.raises(config_files.WrongSettingError, match=r"none.toml cannot be read"):
        config_files.load(file=tmp_path / "none.toml", variables={}, flags={})


def test_file_that_is_not_toml_refuses(tmp_path):
    assert "is not TOML" in refusal("api_port", tmp_path)


def test_bus_of_another_kind_refuses():
    assert "bus.url" in refusal(variables={"TRIPLINE_BUS_URL": "amqp://127.0.0.1:9092"})


@pytest.mark.parametrize("url", ["mysql://127.0.0.1/tripline", "sqlite:///x.db", "postgresql://", "127.0.0.1"])
def test_store_of_another_kind_refuses(url):
    told = refusal(flags={"store.url": url})

    assert told.startswith("--store.url: What is expected: store address, `postgresql://user@host/database`")


def test_part_of_the_roles_without_a_shared_store_refuses():
    assert "set store.url" in refusal(flags={"roles": ("api",)})


@pytest.mark.parametrize("tls", [{"tls.cert": "/c"}, {"tls.key": "/k"}])
def test_half_a_certificate_refuses(tls):
    assert "belong together" in refusal(flags=tls)


def test_unknown_time_zone_refuses():
    assert "no time zone named 'Asia/Nowhere'" in refusal(flags={"time_zone": "Asia/Nowhere"})


@pytest.mark.parametrize(
    ("flags", "https"),
    [
        ({}, False),
        ({"host": "localhost"}, False),
        ({"host": "127.8.9.10"}, False),
        ({"host": "::1"}, False),
        ({"https": True}, True),
        ({"host": "0.0.0.0"}, True),
        ({"host": "fleet.example.com"}, True),
        ({"host": "0.0.0.0", "behind_proxy": True}, True),
        ({"host": "0.0.0.0", "behind_proxy": True, "https": False}, False),
    ],
)
def test_https_follows_the_host(flags, https):
    assert config_files.uses_https(load(flags=flags)) is https


def test_plain_http_beyond_loopback_refuses():
    assert "--behind-proxy" in refusal(flags={"host": "0.0.0.0", "https": False})


@pytest.mark.parametrize("flags", [{}, {"host": "localhost"}, {"host": "0.0.0.0"}, {"behind_proxy": True}])
def test_private_receivers_need_the_setting_wherever_the_server_listens(flags):
    assert load(flags=flags).push.allow_private is False
    assert load(flags={**flags, "push.allow_private": True}).push.allow_private is True


@pytest.mark.parametrize("sender", ["", "nobody", "Tripline <>", "Tripline"])
def test_sender_of_mails_that_is_no_address_refuses_to_start(sender):
    assert refusal(variables={"TRIPLINE_MAIL_SENDER": sender}).startswith("mail.sender: ")


@pytest.mark.parametrize("address", ["fleet.example", "ftp://fleet.example"])
def test_public_address_that_is_no_web_address_refuses_to_start(address):
    assert refusal(variables={"TRIPLINE_ACCOUNTS_PUBLIC_URL": address}).startswith("accounts.public_url must begin")


@pytest.mark.parametrize(("url", "fits"), [("", True), ("https://c.example/api", True), ("c.example", False)])
def test_carriers_address_is_an_http_address_or_empty(url, fits):
    variables = {"TRIPLINE_CARRIER_URL": url}

    if fits:
        assert load(variables=variables).carrier.url == url
    else:
        assert refusal(variables=variables).startswith("TRIPLINE_CARRIER_URL: ")


@pytest.mark.parametrize("token", ["secret\n", "sec ret", "비밀"])
def test_carriers_token_that_fits_no_header_refuses_and_is_not_shown(token):
    assert "ret" not in refusal(variables={"TRIPLINE_CARRIER_TOKEN": token})


@pytest.mark.parametrize(
    "origin",
    ["https://portal.example.com", "http://localhost:3000", "https://127.0.0.1:8443", "http://[::1]:5173",
     "https://xn--3e0b707e.example", "capacitor://localhost"],
)  # fmt: skip
def test_origins_as_browsers_send_them_are_allowed(origin):
    loaded = load(variables={"TRIPLINE_REST_CORS_ORIGINS": f"{origin},https://second.example"})

    assert loaded.rest.cors_origins == (origin, "https://second.example")


@pytest.mark.parametrize(
    "origin",
    ["portal.example.com", "https://portal.example.com/", "https://portal.example.com/app", "https://Portal.example.com",
     "HTTPS://portal.example.com", "https://portal.example.com:443", "http://localhost:80", "https://user@portal.example",
     "https://*.example.com", "null", "", " https://a.example", "https://a.example ", "https://a.example\n", "https://",
     "https://a.example:", "https://a.example:0", "https://a.example:65536", "https://a.example:08", "https://포털.example",
     "https://a..example"],
)  # fmt: skip
def test_origin_in_another_form_refuses_to_start(origin):
    line = refusal(flags={"rest.cors_origins": ["https://good.example", origin]})

    assert line.startswith(f"rest.cors_origins: {origin!r} is no origin as browsers send it.")


def test_trusted_addresses_are_addresses_or_networks():
    given = "192.0.2.7,192.0.2.0/24,2001:db8::/32"

    loaded = load(file=None, variables={}, flags={"accounts.trusted_addresses": given})

    assert loaded.accounts.trusted_addresses == tuple(given.split(","))


@pytest.mark.parametrize("wrong", ["app.example", "192.0.2.7/24", "192.0.2", " 192.0.2.7", ""])
def test_trusted_address_in_another_form_refuses_to_start(wrong):
    line = refusal(flags={"accounts.trusted_addresses": ["192.0.2.1", wrong]})

    assert line == (f"accounts.trusted_addresses: {wrong!r} is no address or network; write 192.0.2.7 or 192.0.2.0/24.")


def test_every_origin_at_once_refuses_to_start():
    line = refusal(variables={"TRIPLINE_REST_CORS_ORIGINS": "*"})

    assert line == "rest.cors_origins: name each origin; * would let in the scripts of every site."


@pytest.mark.parametrize(
    ("cert", "public_url", "promised"),
    [
        ("cert.pem", "https://fleet.example", True),
        ("cert.pem", "https://fleet.example:443/", True),
        ("cert.pem", "https://fleet.example:8443", False),
        ("cert.pem", "http://fleet.example", False),
        ("cert.pem", "", False),
        ("", "https://fleet.example", False),
    ],
)
def test_https_for_good_is_promised_with_a_certificate_of_the_operator_on_the_usual_port(cert, public_url, promised):
    given = config.Config(
        tls=config.Tls(cert=cert, key=cert and "key.pem"), accounts=config.Accounts(public_url=public_url)
    )

    assert config_files.promises_https(given) is promised
