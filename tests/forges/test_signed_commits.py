"""`review.signed`: commits go live with a signature by a key of the live commit; real git."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.forge_project import Start, start
from tests.support.served import Served, git
from tests.support.signers import GpgKey, SshSigner, make_gpg_key, make_ssh_signer
from tests.support.small_project import FILES, hello

pytestmark = pytest.mark.long

__all__ = ["make_gpg_key", "start"]

SIGNED = "signed: { signers: .signers }"
OF_FORGE = f"review: {{ main: proposals, source: forge, approvals: 1, {SIGNED} }}\n"
DIRECT = f"review: {{ {SIGNED} }}\n"
BY_KEYS = "review: { signed: { keys: .keys } }\n"


@pytest.fixture
def ada(tmp_path: Path) -> SshSigner:
    return make_ssh_signer(tmp_path, "ada@example.com")


@pytest.fixture
def mallory(tmp_path: Path) -> SshSigner:
    return make_ssh_signer(tmp_path, "mallory@example.com")


def test_signed_head_of_a_pull_request_goes_live(start: Start, ada: SshSigner) -> None:
    project = start(OF_FORGE, files={".signers": ada.line.decode()})
    for number, way in enumerate(("merge", "squash", "rebase")):
        topic = project.propose(hello(10 + number), options=ada.options)
        project.until_live(project.land(topic, way))  # type: ignore[arg-type]
    unsigned = project.propose(hello(20))
    merged = project.land(unsigned)
    message = project.until_stalled(merged, "SignatureMissing")
    assert f"commit {unsigned.head[:12]} by ada has no signature; " in message
    assert "sign with a key that 'review.signed' of the live project.yaml names" in message
    project.accept(merged)
    project.until_live(merged)


def test_pull_request_cannot_add_its_own_signer(
    start: Start, ada: SshSigner, mallory: SshSigner
) -> None:
    project = start(OF_FORGE, files={".signers": ada.line.decode()})
    both = (ada.line + mallory.line).decode()
    topic = project.propose({".signers": both, **hello(5)}, options=mallory.options)
    message = project.until_stalled(project.land(topic), "SignatureMissing")
    assert "is signed by an SSH key that does not count" in message
    assert project.live() == project.start_commit


def test_new_signer_counts_once_the_list_is_live(
    start: Start, ada: SshSigner, mallory: SshSigner
) -> None:
    project = start(DIRECT, files={".signers": ada.line.decode()})
    both = (ada.line + mallory.line).decode()
    project.commit({".signers": both}, *ada.options)
    project.until_live(project.push())
    project.commit(hello(6), *mallory.options)
    project.until_live(project.push())


def test_each_commit_of_a_direct_push_is_signed(start: Start, ada: SshSigner) -> None:
    project = start(DIRECT, files={".signers": ada.line.decode()})
    unsigned = project.commit(hello(7))
    project.commit(hello(8), *ada.options)
    pushed = project.push()
    message = project.until_stalled(pushed, "SignatureMissing")
    assert f"commit {unsigned[:12]} by ada has no signature" in message
    project.accept(pushed, project.start_commit)
    project.until_live(pushed)


def test_merge_of_a_signed_branch_needs_no_signature_of_its_own(
    start: Start, ada: SshSigner
) -> None:
    project = start(DIRECT, files={".signers": ada.line.decode()})
    project.merge(project.propose(hello(9), options=ada.options))
    project.until_live(project.push())
    project.merge(project.propose(hello(10), options=ada.options))
    (project.work / "README.md").write_text("evil\n")
    git(project.work, "add", "-A")
    git(project.work, "commit", "-q", "--amend", "--no-edit")
    evil = project.push()
    project.until_stalled(evil, "SignatureMissing", f"commit {evil[:12]} by ada has no signature")


def test_openpgp_keys_of_a_folder_sign(
    start: Start, make_gpg_key: Callable[..., GpgKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    key, other = make_gpg_key("ada"), make_gpg_key("mallory")
    project = start(BY_KEYS, files={".keys/ada.asc": key.public.decode()})
    monkeypatch.setenv("GNUPGHOME", str(key.home))
    project.commit(hello(11), "-c", f"user.signingKey={key.fingerprint}")
    project.until_live(project.push())
    monkeypatch.setenv("GNUPGHOME", str(other.home))
    files = {".keys/mallory.asc": other.public.decode()}
    project.commit(files, "-c", f"user.signingKey={other.fingerprint}")
    project.until_stalled(
        project.push(), "SignatureMissing", "is signed by an OpenPGP key that does not count"
    )


def test_served_folder_holds_unsigned_commits(tmp_path: Path, ada: SshSigner) -> None:
    work = tmp_path / "shop"
    files = {**FILES, "project.yaml": FILES["project.yaml"] + DIRECT, ".signers": ada.line.decode()}
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    git(tmp_path, "init", "-q", "-b", "main", str(work))
    git(work, "add", "-A")
    git(work, "commit", "-qm", "Start")
    with Served(work, tmp_path / "home") as served:
        served.live()
        (work / "functions/hello.yaml").write_text(hello(12)["functions/hello.yaml"])
        unsigned = served.commit()
        stalled = served.stalled()
        assert (stalled["reason"], unsigned[:12] in stalled["message"]) == (
            "SignatureMissing",
            True,
        )
        git(work, *ada.options, "commit", "-q", "--amend", "-S", "--no-edit")
        assert served.live_of(git(work, "rev-parse", "HEAD"))
