"""A short run of the fuzzer of REST."""

from pathlib import Path

import pytest
from tests.fuzz import fuzz_rest

from tripline.domain import access
from tripline.domain.access import Action, Authority, Reach

pytestmark = pytest.mark.deep


@pytest.mark.parametrize("seed", [1, 2])
def test_random_requests_are_answered_or_refused(tmp_path: Path, seed: int) -> None:
    seen = fuzz_rest.run(tmp_path, seed=seed, requests=3_000)

    # Every sort of answer occurs, or the requests are not what they should be.
    assert seen.keys() >= {200, 400, 401, 403, 404, 405}
    assert seen[200] > 100


def test_fuzzer_notices_a_permission_that_reaches_too_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(access.RULES[Action.VEHICLE_READ], Authority.COMPANY_ADMIN, frozenset({Reach.ANY}))

    # A single seed may miss it, and each new route makes other requests of a seed.
    with pytest.raises(AssertionError, match="told the stranger's rows"):
        for seed in range(1, 11):
            (folder := tmp_path / str(seed)).mkdir()
            fuzz_rest.run(folder, seed=seed, requests=2_000)
