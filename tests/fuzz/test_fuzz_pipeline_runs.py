"""The pipeline's fuzzer starts, settles everything it throws and finds nothing in a second."""

import pytest
from tests.fuzz import fuzz_pipeline

pytestmark = pytest.mark.deep


def test_fuzz_pipeline_for_a_second_finds_nothing() -> None:
    assert fuzz_pipeline.main(1.0, 20250101) == 0
