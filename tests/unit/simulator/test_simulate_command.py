"""Refused starts of `tripline simulate`."""

import pytest

from tripline import cli

ACCOUNT = ["--email", "a@b.example"]


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["--tokens", "missing"],
        [*ACCOUNT, "--vehicles", "0"],
        [*ACCOUNT, "--vehicles", "100000"],
        [*ACCOUNT, "--types", "LIDAR"],
        [*ACCOUNT, "--habits", "good"],
        [*ACCOUNT, "--styles", "calm=-1"],
        [*ACCOUNT, "--rpc", "loud"],
        [*ACCOUNT, "--speed", "0.5"],
        [*ACCOUNT, "--speed", "-1"],
        [*ACCOUNT, "--duration", "29"],
        [*ACCOUNT, "--aggregate", "1001"],
        [*ACCOUNT, "--msgpack", "1.1"],
        [*ACCOUNT, "--around", "north"],
        [*ACCOUNT, "--around", "91,0"],
    ],
)
def test_simulate_used_wrongly_exits_2(wrong, monkeypatch):
    monkeypatch.setenv("TRIPLINE_LOGIN_PASSWORD", "a long pass phrase")

    assert cli.run(["simulate", *wrong]) == cli.WRONG_USE


def test_simulate_without_a_password_exits_2(monkeypatch):
    monkeypatch.delenv("TRIPLINE_LOGIN_PASSWORD", raising=False)

    assert cli.run(["simulate", *ACCOUNT]) == cli.WRONG_USE


def test_simulate_with_a_type_in_its_tokens_that_is_none_exits_2(tmp_path):
    file = tmp_path / "tokens"
    file.write_text("aaaaaaaaaaaaaaaaaaaa,LIDAR\n")

    assert cli.run(["simulate", "--tokens", str(file)]) == cli.WRONG_USE


def test_simulate_along_a_file_that_is_no_route_exits_1_with_one_line(tmp_path, capsys):
    tokens, route = tmp_path / "tokens", tmp_path / "route.csv"
    tokens.write_text("aaaaaaaaaaaaaaaaaaaa\n")
    route.write_text("t_ms,lat,lon\n")

    code = cli.run(["simulate", "--tokens", str(tokens), "--route", str(route)])

    assert (code, capsys.readouterr().err) == (cli.FAILED, "tripline: route.csv has no usable row\n")


def test_simulate_without_the_certificate_authority_exits_1_with_one_line(tmp_path, capsys):
    tokens = tmp_path / "tokens"
    tokens.write_text("aaaaaaaaaaaaaaaaaaaa\n")

    assert cli.run(["simulate", "--tokens", str(tokens), "--ca", str(tmp_path / "ca.crt")]) == cli.FAILED
    assert "ca.crt cannot be read: No such file" in capsys.readouterr().err


def test_other_commands_take_the_variable_of_the_password_for_no_setting(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TRIPLINE_LOGIN_PASSWORD", "a long pass phrase")
    monkeypatch.chdir(tmp_path)

    assert cli.run(["config"]) == cli.OK

    assert "pass phrase" not in capsys.readouterr().out
