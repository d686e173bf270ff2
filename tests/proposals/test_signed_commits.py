"""`review.signed` on this server: unsigned pushes, proposals and rollbacks are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.patience import PATIENCE_SECONDS
from tests.support.proposing import Asking, propose
from tests.support.pushing import Clone, World
from tests.support.signers import SshSigner, make_ssh_signer
from tests.support.small_project import FILES, hello

pytestmark = pytest.mark.long

PROJECT = FILES["project.yaml"]
DIRECT = f"{PROJECT}review: {{ signed: {{ signers: .signers }} }}\n"
PROPOSALS = f"{PROJECT}review: {{ main: proposals, signed: {{ signers: .signers }} }}\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world")) as world:
        yield world


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> SshSigner:
    return make_ssh_signer(tmp_path_factory.mktemp("keys"), "ada@example.com")


def write(clone: Clone, files: dict[str, str], signer: SshSigner | None = None) -> str:
    """Commit files, signed by a signer; return the commit."""
    for path, text in files.items():
        target = Path(clone.folder / path)
        target.write_text(text)
    options = (*signer.options, "-c", "commit.gpgSign=true") if signer else ()
    clone.git("add", "-A")
    clone.git(*options, "commit", "-qm", "Change")
    return clone.git("rev-parse", "HEAD").text


def test_signed_work_goes_live_by_pushes_and_by_proposals(world: World, ada: SshSigner) -> None:
    clone = world.clone("maintainer")
    write(clone, {"project.yaml": DIRECT, ".signers": ada.line.decode()})
    assert "live: " in clone.push().text

    unsigned = write(clone, hello(2))
    before = world.tip()
    done = clone.push()
    assert (done.code, world.tip()) == (1, before)
    assert f"commit {unsigned[:12]} by bob has no signature" in done.text
    assert "sign with a key that 'review.signed' of the live project.yaml names" in done.text

    clone.git(*ada.options, "commit", "-q", "--amend", "-S", "--no-edit")
    assert "live: " in clone.push().text
    write(clone, {"project.yaml": PROPOSALS}, ada)
    assert "live: " in clone.push().text

    asking = Asking(world, "maintainer")
    write(clone, hello(3))
    number = propose(clone, "hello")
    (obstacle,) = asking.get(number)["obstacles"]
    assert "has no signature: sign with a key" in obstacle
    assert asking.merge(number).status_code == 409
    clone.git(*ada.options, "commit", "-q", "--amend", "-S", "--no-edit")
    assert propose(clone, "hello", "-o", "force") == number
    merged = asking.merge(number)
    assert (merged.status_code, world.version()) == (200, 3), merged.text

    rollback = f"{world.serving['control_url']}/api/projects/shop/rollback"
    body = {"version": "v4", "now": True}
    answer = httpx.post(rollback, json=body, headers=asking.headers, timeout=PATIENCE_SECONDS)
    assert answer.status_code == 409, answer.text
    assert "has no signature" in answer.json()["error"]["message"]
