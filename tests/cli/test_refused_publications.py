"""The line about a refused publication names what serves meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import Publication
from bbops_server.commands._report import Terminal
from bbops_server.publish.status.status import Stalled, StatusBoard

MISTAKE = JsonDiagnostic("error", "bad-value", "project.yaml", 1, 1, "a mistake", "")
KEEPS = "this is not published; the last live release keeps serving"


def refuse(board: StatusBoard, mode: str = "serve") -> None:
    """Print a refused publication of a board."""
    stalled = Stalled("ProjectInvalid", "a mistake", diagnostics=[MISTAKE])
    board.begin("git:2222")
    board.stall(stalled)
    Terminal(mode=mode)("", stalled)


@pytest.fixture
def board() -> StatusBoard:
    return StatusBoard("", "shop", "http://127.0.0.1:8001", "main")


def test_first_publication_has_no_live_release(
    board: StatusBoard, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse(board)
    assert "this is not published; nothing is live yet" in capsys.readouterr().out


def test_restored_release_keeps_serving(
    board: StatusBoard, capsys: pytest.CaptureFixture[str]
) -> None:
    board.restored("shop", "git:1111", "1111", "v1")
    refuse(board)
    assert KEEPS in capsys.readouterr().out


def test_published_release_keeps_serving(
    board: StatusBoard, capsys: pytest.CaptureFixture[str]
) -> None:
    board.publish("shop", "1111", Publication("git:1111", datetime.now(UTC), "live", 1.0))
    refuse(board)
    assert KEEPS in capsys.readouterr().out


def test_dev_routes_answer_503(board: StatusBoard, capsys: pytest.CaptureFixture[str]) -> None:
    board.restored("shop", "git:1111", "1111", "v1")
    refuse(board, mode="dev")
    assert "routes answer 503 until this is fixed" in capsys.readouterr().out
