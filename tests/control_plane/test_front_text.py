"""The front page as plain text: a line of each condition that says something."""

from __future__ import annotations

import pytest

from bbops_server.control_plane.projects.front import render_project
from bbops_server.publish.status.status import StatusBoard

pytestmark = pytest.mark.quick


def test_a_condition_that_does_not_hold_has_no_line() -> None:
    board = StatusBoard("", "shop", "http://127.0.0.1:8000", "main")
    told = render_project(board.status())
    assert "  Ready        no  Starting\n" in told
    assert "Reconciling" not in told
    assert "Stalled" not in told
