"""The live board of the sample saas: its members see tickets change, and nobody else does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support.served import Served, git

pytestmark = pytest.mark.long

ENV = dict.fromkeys(
    (
        "PAYMENTS_SECRET_KEY", "PAYMENTS_WEBHOOK_SECRET", "PRO_PRICE_ID", "STORAGE_KEY_ID",
        "STORAGE_SECRET", "MAIL_KEY",
    ),
    "made-up",
)  # fmt: skip


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The sample, which sends no mail here."""
    folder = tmp_path / "saas"
    shutil.copytree(ROOT / "tests/samples/saas", folder)
    trigger = folder / "triggers/welcome.yaml"
    trigger.write_text(f"{trigger.read_text()}enabled: false\n")
    git(folder, "init", "-qb", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start")
    with Served(folder, tmp_path / "home", env=ENV) as server:
        server.live()
        yield server


def events(lines: Iterator[str]) -> Iterator[Any]:
    """Yield the messages of a stream of server-sent events."""
    return (json.loads(line[5:]) for line in lines if line.startswith("data:"))


def test_members_of_a_team_see_its_tickets_change_and_strangers_do_not(served: Served) -> None:
    ada, bob = served.sign_up(), served.sign_up(email="bob@example.com", name="Bob")
    made = served.api.post("/api/v1/teams", json={"name": "Alpha"}, headers=ada)
    assert made.status_code == 201, made.text
    team = made.json()["id"]
    board = f"/~realtime/teams/{team}/board"
    assert served.api.get(board, headers=bob).status_code in {403, 404}
    with served.api.stream("GET", board, headers=ada) as stream:
        assert stream.status_code == 200
        told = events(stream.iter_lines())
        opened = served.api.post(
            f"/api/v1/teams/{team}/tickets", json={"title": "Leak"}, headers=ada
        )
        assert opened.status_code == 201, opened.text
        first = next(told)
    assert first["event"] == "row.inserted"
    assert first["payload"] == {
        "id": opened.json()["id"], "title": "Leak", "status": "open", "assignee_id": None,
    }  # fmt: skip
