"""A missing tool skips on a desk and fails on a build machine."""

import pytest
from tests.support import required


def test_present_command_and_true_condition_go_on():
    required.need("sh", "nothing")
    required.need(True, "nothing")


@pytest.mark.parametrize("missing", ["no-such-command", False])
def test_missing_thing_skips_with_what_did_not_run(missing, monkeypatch):
    monkeypatch.setenv("CI", "false")

    with pytest.raises(pytest.skip.Exception, match="the device listener did not run"):
        required.need(missing, "the device listener")


@pytest.mark.parametrize("missing", ["no-such-command", False])
def test_missing_thing_fails_on_a_build_machine(missing, monkeypatch):
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="the device listener did not run"):
        required.need(missing, "the device listener")
