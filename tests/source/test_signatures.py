"""Signatures of commits by SSH and OpenPGP keys, with real git, ssh-keygen and gpg."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bbops.source.git.place import find_repository
from bbops.source.git.signatures import TrustedKeys, find_unsigned
from tests.support.git_store import Git, clean_environment, git, repository
from tests.support.signers import GpgKey, SshSigner, make_gpg_key, make_ssh_signer

__all__ = ["clean_environment", "git", "make_gpg_key", "repository"]

MakeKey = Callable[..., GpgKey]


@pytest.fixture
def ada(tmp_path: Path) -> SshSigner:
    return make_ssh_signer(tmp_path, "ada@example.com")


@pytest.fixture
def bob(tmp_path: Path) -> SshSigner:
    return make_ssh_signer(tmp_path, "bob@example.com")


def commit(repository: Path, git: Git, *options: str, sign: bool = True) -> str:
    sign_option = ("-S",) if sign else ()
    git(repository, *options, "commit", "-q", "--allow-empty", *sign_option, "-m", "Change")
    return git(repository, "rev-parse", "HEAD")


def why(repository: Path, commits: list[str], trusted: TrustedKeys) -> Mapping[str, str]:
    found = find_unsigned(find_repository(repository), commits, trusted)
    return {commit: missing.why for commit, missing in found.items()}


def test_commit_of_a_listed_ssh_key_is_signed(
    repository: Path, git: Git, ada: SshSigner, bob: SshSigner
) -> None:
    signed = commit(repository, git, *ada.options)
    foreign = commit(repository, git, *bob.options)
    plain = commit(repository, git, sign=False)
    trusted = TrustedKeys(ada.line, None)
    assert why(repository, [signed, foreign, plain], trusted) == {
        foreign: "is signed by an SSH key that does not count",
        plain: "has no signature",
    }
    assert why(repository, [signed, foreign], TrustedKeys(ada.line + bob.line, None)) == {}
    assert why(repository, [], trusted) == {}


def test_settings_and_keys_of_the_user_do_not_count(
    repository: Path, git: Git, ada: SshSigner, bob: SshSigner, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    foreign = commit(repository, git, *bob.options)
    own = tmp_path / "signers"
    own.write_bytes(bob.line)
    always = tmp_path / "always"
    always.write_text("#!/bin/sh\nexit 0\n")
    always.chmod(0o755)
    settings = tmp_path / "gitconfig"
    settings.write_text(
        f'[gpg "ssh"]\n\tallowedSignersFile = {own}\n\tprogram = {always}\n'
        f"[gpg]\n\tprogram = {always}\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    for key in ("gpg.ssh.allowedSignersFile", "gpg.ssh.program"):
        git(repository, "config", key, str(own if key.endswith("File") else always))
    assert list(why(repository, [foreign], TrustedKeys(ada.line, None))) == [foreign]


def test_signature_for_another_commit_is_bad(repository: Path, git: Git, ada: SshSigner) -> None:
    signed = commit(repository, git, *ada.options)
    text = git(repository, "cat-file", "commit", signed)
    forged = git(repository, "hash-object", "-t", "commit", "-w", "--stdin",
                 given=text.replace("Change", "Evil") + "\n")  # fmt: skip
    found = why(repository, [forged], TrustedKeys(ada.line, None))
    assert found == {forged: "has a bad signature"}


def test_ssh_signature_without_ssh_keys_names_the_missing_kind(
    repository: Path, git: Git, ada: SshSigner
) -> None:
    signed = commit(repository, git, *ada.options)
    found = why(repository, [signed], TrustedKeys(None, ()))
    assert found == {signed: "has an SSH signature, and no SSH key counts"}


def test_commit_of_a_listed_openpgp_key_is_signed(
    repository: Path, git: Git, make_gpg_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = make_gpg_key("ada"), make_gpg_key("bob")
    signed = {}
    for key in (ada, bob):
        monkeypatch.setenv("GNUPGHOME", str(key.home))
        signed[key.name] = commit(repository, git, "-c", f"user.signingKey={key.fingerprint}")
    trusted = TrustedKeys(None, (ada.public,))
    monkeypatch.setenv("GNUPGHOME", str(bob.home))  # a keyring of the user, which does not count
    assert why(repository, [*signed.values()], trusted) == {
        signed["bob"]: "is signed by an OpenPGP key that does not count"
    }
    assert why(repository, [signed["ada"]], TrustedKeys(b"", None)) == {
        signed["ada"]: "has an OpenPGP signature, and no OpenPGP key counts"
    }


def test_server_without_gpg_names_the_fix(
    repository: Path, git: Git, make_gpg_key: MakeKey, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    ada = make_gpg_key("ada")
    monkeypatch.setenv("GNUPGHOME", str(ada.home))
    signed = commit(repository, git, "-c", f"user.signingKey={ada.fingerprint}")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "ssh-keygen", "env", "sh"):
        (programs / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(programs))
    (missing,) = find_unsigned(
        find_repository(repository), [signed], TrustedKeys(None, (ada.public,))
    ).values()
    assert missing.why == "has an OpenPGP signature, which needs gpg"
    assert missing.hint == "install 'gnupg' on the server"


def test_invalid_openpgp_key_is_reported(
    repository: Path, git: Git, make_gpg_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = make_gpg_key("ada")
    monkeypatch.setenv("GNUPGHOME", str(ada.home))
    signed = commit(repository, git, "-c", f"user.signingKey={ada.fingerprint}")
    place, broken = find_repository(repository), b"not a key"
    assert find_unsigned(place, [signed], TrustedKeys(None, (broken, ada.public))) == {}
    (missing,) = find_unsigned(place, [signed], TrustedKeys(None, (broken,))).values()
    assert missing.why == "is signed by an OpenPGP key that does not count"
    assert missing.hint.startswith("OpenPGP keys that are not valid: 1; ")


def test_expired_openpgp_key_does_not_count(
    repository: Path, git: Git, make_gpg_key: MakeKey, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    ada = make_gpg_key("ada", clock="20200101T000000", expires="1d")
    monkeypatch.setenv("GNUPGHOME", str(ada.home))
    wrapper = tmp_path / "gpg-of-2020"
    wrapper.write_text('#!/bin/sh\nexec gpg --faked-system-time 20200101T010000 "$@"\n')
    wrapper.chmod(0o755)
    signed = commit(
        repository, git, "-c", f"gpg.program={wrapper}", "-c",
        f"user.signingKey={ada.fingerprint}",
    )  # fmt: skip
    found = why(repository, [signed], TrustedKeys(None, (ada.public,)))
    assert found == {signed: "is signed by an expired key"}
