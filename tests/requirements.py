"""What a test needs of its machine: without it the test is skipped, but in CI that is a failure."""

import os
from typing import NoReturn

import pytest


def skip_or_fail(reason: str) -> NoReturn:
    """Skips the test, or fails it where ``CI`` is ``true``."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
