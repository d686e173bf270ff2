"""Approvals by a commit or a plan, which name its full id."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from bbops.base.errors import ServerError
from bbops.database.diff.changes import hash_changes
from bbops_server.publish.drafts.draft_hosts import require_commit
from bbops_server.publish.holds.approvals import WaitingMigration, approve
from bbops_server.publish.sources.values import is_full_id

FULL = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("digits", [1, 7, 12, 39])
def test_shortened_id_is_rejected_with_all_digits_to_compare(digits: int) -> None:
    with pytest.raises(ServerError, match="is a shortened id, which another commit") as caught:
        is_full_id(FULL[:digits], FULL)
    assert FULL in caught.value.hint


@pytest.mark.parametrize("named", ["", "f" * 40, FULL + "0"])
def test_id_of_another_commit_does_not_match(named: str) -> None:
    assert not is_full_id(named, FULL)


def test_full_id_matches_in_upper_case() -> None:
    assert is_full_id(FULL.upper(), FULL)


def test_hosts_of_a_draft_are_not_allowed_for_a_shortened_commit() -> None:
    require_commit("topic", FULL, FULL)
    for named, text in (FULL[:12], "shortened id"), ("f" * 40, "is at 0123456789ab, not"):
        with pytest.raises(ServerError, match=text):
            require_commit("topic", FULL, named)


def test_migration_is_not_approved_by_a_shortened_hash(tmp_path: Path) -> None:
    hashed = hash_changes([], "base")
    waiting = msgspec.json.encode(WaitingMigration(hashed, ()))
    (tmp_path / "migration.json").write_bytes(waiting)
    with pytest.raises(ServerError, match="which another plan can have, too"):
        approve(tmp_path, hashed[:12], who="ada", at=datetime.now(UTC))
    assert approve(tmp_path, hashed, who="ada", at=datetime.now(UTC)).hash == hashed
    assert len(hashed) == 40, "two plans with the same 12 digits can be found in minutes"
