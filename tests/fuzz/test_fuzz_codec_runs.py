"""A short run of the codec's fuzzer, so that it keeps working; long runs are started by hand."""

import pytest
from tests.fuzz import fuzz_codec

pytestmark = pytest.mark.deep


def test_short_fuzz_run_finds_nothing():
    outcome = fuzz_codec.run(seconds=60, seed=1, rounds=1_000)

    assert outcome.rounds == 1_000
    assert 0 < outcome.ends < 1_000
