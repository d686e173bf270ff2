"""Files of long tests alone are not read where long tests are left out.

They import the libraries of the extra `vendors`, which the tests of every day do without.
"""

from __future__ import annotations

from pathlib import Path

import pytest

LONG = frozenset({"test_webhooks_in.py"})


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file none of whose tests would run."""
    leaves_out = "not long" in (config.option.markexpr or "")
    return True if leaves_out and collection_path.name in LONG else None
