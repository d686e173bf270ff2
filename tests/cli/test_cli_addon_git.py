"""`bbops addon add git+…` copies an addon of another repository, signed with git's own SSH keys."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bbops.interfaces.cli._root_group import RootGroup
from tests.support.served import git

pytestmark = pytest.mark.long

ADDON = """
enabled: true
server: https://api.example.com
auth: { bearer: token }
config: { token: "${ env.BILLING_TOKEN }" }
"""
STEP = "request: { method: POST, path: /refunds }\nparameters: { id: string }\n"


@dataclass
class Shared:
    """A repository of somebody else, with an addon, and the key that signs its commits."""

    folder: Path
    key: Path

    def commit(self, files: dict[str, str | None], *, signed: bool = True) -> str:
        """Commit files; None removes one."""
        for path, text in files.items():
            target = self.folder / path
            if text is None:
                target.unlink()
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        git(self.folder, "add", "-A")
        how = ("-S",) if signed else ("--no-gpg-sign",)
        git(self.folder, "-c", "gpg.format=ssh", "-c", f"user.signingKey={self.key}", "commit",
            "-q", "-m", "Change", *how)  # fmt: skip
        return git(self.folder, "rev-parse", "HEAD")

    def source(self, commit: str, path: str = "#addons/billing") -> str:
        """Return it as the command takes it."""
        return f"git+file://{self.folder}@{commit}{path}"


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    """A repository with a signed commit."""
    key = tmp_path / "key"
    program = shutil.which("ssh-keygen")
    assert program is not None, "the tests of signatures need ssh-keygen (openssh-client)"
    make = [program, "-q", "-t", "ed25519", "-N", "", "-C", "x", "-f", str(key)]
    subprocess.run(make, check=True, stdin=subprocess.DEVNULL)
    folder = tmp_path / "shared"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.email", "ada@example.com")
    git(folder, "config", "user.name", "Ada")
    return Shared(folder, key)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project."""
    project = tmp_path / "shop"
    (project / "functions").mkdir(parents=True)
    (project / "project.yaml").write_text("bbops: 1\nname: shop\n")
    return project


def signers(shared: Shared, who: str = "ada@example.com") -> str:
    file = shared.folder.parent / "signers"
    file.write_text(f"{who} {shared.key.with_suffix('.pub').read_text()}")
    return str(file)


def add(root: Path, source: str, *more: str, name: str = "billing") -> Result:
    arguments = ["addon", "add", source, "--name", name, "--path", str(root), *more]
    return CliRunner().invoke(RootGroup("bbops"), arguments)


FILES: dict[str, str | None] = {
    "addons/billing.yaml": ADDON, "addons/billing/refund.yaml": STEP, "run.sh": "rm -rf /",
    "addons/billing/evil.py": "import os",
}  # fmt: skip


def test_a_signed_commit_is_copied_and_says_who_signed_it(root: Path, shared: Shared) -> None:
    commit = shared.commit(FILES)
    result = add(root, shared.source(commit), "--signers", signers(shared))
    assert result.exit_code == 0, result.output
    text = (root / "addons/billing.yaml").read_text()
    assert f"commit: {commit}" in text
    assert "signedBy: ada@example.com" in text
    assert sorted(one.name for one in root.rglob("*") if one.is_file()) == [
        "billing.yaml", "project.yaml", "refund.yaml",
    ]  # fmt: skip
    assert "BILLING_TOKEN: { secret: true }" in (root / "project.yaml").read_text()


@pytest.mark.parametrize("how", ["unsigned", "another key", "another name"])
def test_a_commit_that_nobody_signed_is_refused(root: Path, shared: Shared, how: str) -> None:
    commit = shared.commit(FILES, signed=how != "unsigned")
    file = signers(shared)
    if how == "another key":
        other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMoWhcmAAxPJeRsWUPSMx1SUzXuRyZBCSkjuEQCDbkGb"
        Path(file).write_text(f"ada@example.com {other}\n")
    elif how == "another name":
        Path(file).write_text("")
    result = add(root, shared.source(commit), "--signers", file)
    assert (result.exit_code, "has signed commit" in result.stderr) == (2, True), result.output
    assert not (root / "addons").exists()


def test_without_signers_it_is_said_that_nobody_looked(root: Path, shared: Shared) -> None:
    result = add(root, shared.source(shared.commit(FILES)))
    assert "the commit's signature was not verified" in result.stdout
    assert "signedBy" not in (root / "addons/billing.yaml").read_text()


def test_another_commit_changes_what_nobody_edited(root: Path, shared: Shared) -> None:
    add(root, shared.source(shared.commit(FILES)))
    (root / "functions/run.yaml").write_text("steps:\n  - billing.refund: { id: a }\n")
    file = root / "addons/billing.yaml"
    file.write_text(file.read_text().replace("enabled: true", "enabled: false"))
    newer = shared.commit({
        "addons/billing/refund.yaml": STEP.replace("id: string", "id: string, why?: string"),
        "addons/billing/list.yaml": "request: { method: GET, path: /refunds }\n",
    })  # fmt: skip
    result = add(root, shared.source(newer))
    assert result.exit_code == 0, result.output
    assert "widens: parameter 'why' is new" in result.stdout
    assert "used by run" in result.stdout
    assert "enabled: false" in file.read_text()
    step = root / "addons/billing/refund.yaml"
    step.write_text(step.read_text().replace("/refunds", "/v2/refunds"))
    again = shared.commit({"addons/billing/list.yaml": None})
    refused = add(root, shared.source(again))
    assert (refused.exit_code, "somebody edited the copy" in refused.stderr) == (2, True)
    assert add(root, shared.source(again), "--force").exit_code == 0
    assert not (root / "addons/billing/list.yaml").exists()


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("addons/billing.yaml", "enabled: true\n", "has no 'server'"),
        ("addons/billing.yaml", "server: &a https://x\n", "cannot be read"),
        ("addons/billing.yaml", f"{ADDON}run: rm\n", "not a file of an addon"),
        ("addons/billing/refund.yaml", "functions: { a: 1 }\n", "not a file of an addon"),
        ("addons/billing/refund.yaml", "x" * 300_000, "at most 200,000"),
        ("addons/billing/a b.yaml", STEP, "is not a name"),
    ],
)
def test_what_is_no_addon_is_refused(
    root: Path, shared: Shared, file: str, text: str, words: str
) -> None:
    result = add(root, shared.source(shared.commit({**FILES, file: text})))
    assert (result.exit_code, words in result.stderr) == (2, True), result.output
    assert not (root / "addons").exists()


def test_a_source_without_a_whole_commit_is_refused(root: Path, shared: Shared) -> None:
    commit = shared.commit(FILES)
    for source, words in (
        (f"git+file://{shared.folder}#addons/billing", "named with its commit"),
        (shared.source("main"), "not the whole id"),
        (shared.source(commit[:12]), "not the whole id"),
        (shared.source("0" * 40), "failed"),
        (shared.source(commit, "#addons/nothing"), "has no 'addons/nothing.yaml'"),
        (shared.source(commit, "#../../etc"), "has no"),
        (f"git+https://me:secret@example.com/a@{commit}", "password"),
        (f"git+ext::sh -c id@{commit}", "not"),
    ):
        result = add(root, source)
        assert (result.exit_code, words in result.stderr) == (2, True), (source, result.output)
        assert "Traceback" not in result.output


def test_a_link_is_not_followed(root: Path, shared: Shared) -> None:
    shared.commit(FILES)
    (shared.folder / "addons/billing/passwd.yaml").symlink_to("/etc/passwd")
    result = add(root, shared.source(shared.commit({})))
    assert (result.exit_code, "passwd.yaml' is not a file" in result.stderr) == (2, True)
