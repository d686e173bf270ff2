"""An import inside of a function spares start-up something, or stands at the top of its file."""

from __future__ import annotations

from typing import Final

import pytest

from tests.house.late_imports import measure

LEAST: Final = 2
"""Modules that are not loaded without it."""

NOT_EVERYWHERE: Final = {"fcntl"}
"""Windows has none."""


@pytest.mark.long
def test_a_late_import_spares_at_least_two_modules() -> None:
    found = [*measure()]
    assert len(found) > 100
    useless = [one for one in found if one.modules < LEAST]
    assert [str(one) for one in useless if one.late.target not in NOT_EVERYWHERE] == []
