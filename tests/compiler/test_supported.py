"""What this version checks but does not run is told where it is written, and nowhere pretends."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from bbops.compiler.check import Cache, validate
from bbops.compiler.check._supported import find_unsupported_parts
from bbops.compiler.compile.release import build
from bbops.interfaces.cli._root_group import RootGroup
from bbops.language.loading.load import kinds
from bbops.language.steps._base import step_kinds
from bbops.source.tree import MemoryTree
from tests.conftest import HELPER, MAIL, Files, sample
from tests.docs.examples import upcoming_files
from tests.docs.marks import PAGES, find_wrong_marks, with_sentence
from tests.support.cases import write
from tests.support.features import without_webhooks
from tests.support.served import git
from tests.support.unsupported import (
    CODE,
    files_with_unsupported,
    forget,
    hide_agents,
    told_of,
)

SEND = "steps:\n  - email.sendEmail: { to: a@b.example, subject: One, text: Hello }\n"
HERE = {"addons/email.yaml": MAIL}
STEP = "[not-supported]\n    hint: call the service with the step 'http' instead"
FILE = "[not-supported]\n    hint: remove the file, and call the service with the step 'http'"
KIND = (
    "[not-supported]\n"
    "    hint: leave agents/helper.yaml out until a version supports it: nothing would start it"
)
CLEAN = "steps:\n  - log: { message: cleaned }\n"


@pytest.fixture
def without_mail(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take away what two addons do, as if no version had done it yet."""
    for name in ("email", "chat_model"):
        monkeypatch.setitem(sys.modules, f"bbops.runtime.vendors.{name}", None)
    forget()
    yield
    monkeypatch.undo()
    forget()


@pytest.fixture
def without_agents(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take away what runs agents, as if no version had done it yet."""
    hide_agents(monkeypatch)
    yield
    monkeypatch.undo()
    forget()


def severities(files: Files, base: Files | None = None) -> list[tuple[str, str]]:
    """Return (file, severity) of what is not supported."""
    found = validate(MemoryTree(files), base=None if base is None else MemoryTree(base))[1]
    return [(one.place.file, one.severity) for one in found if one.code == CODE]


# ---- where it is written
@pytest.mark.usefixtures("without_mail", "without_agents")
def test_a_kind_is_told_at_its_file_and_a_step_at_its_line() -> None:
    files = sample(functions__tell=SEND) | HERE
    files |= {"agents/helper.yaml": HELPER}
    told = [str(one) for one in validate(MemoryTree(files))[1] if one.code == CODE]
    sends = "functions/tell.yaml:2:5: error: this version does not run 'email.sendEmail' steps yet"
    assert told == [
        f"addons/email.yaml:1:1: error: this version does not run addon 'email' yet {FILE}",
        f"agents/helper.yaml:1:1: error: this version does not run agents yet {KIND}",
        f"{sends} {STEP}",
    ]


@pytest.mark.usefixtures("without_mail")
def test_everything_that_is_not_run_is_told_once() -> None:
    files = upcoming_files()
    assert told_of(validate(MemoryTree(files))[1]) == files_with_unsupported(files)
    assert len(files_with_unsupported(files)) > len(find_unsupported_parts().kinds)


@pytest.mark.usefixtures("without_mail")
def test_nothing_is_built_of_a_project_that_adds_it() -> None:
    assert build(MemoryTree(sample() | HERE)).project is None


# ---- what was there before
@pytest.mark.usefixtures("without_mail")
def test_what_was_there_before_is_a_warning_and_publishes() -> None:
    files = sample(functions__tell=SEND) | HERE
    wanted = [("addons/email.yaml", "warning"), ("functions/tell.yaml", "warning")]
    assert severities(files, files) == wanted
    tree = MemoryTree(files)
    assert build(tree, base=tree).project is not None


def of_steps(files: Files, base: Files) -> list[tuple[str, str]]:
    """Return what is told of functions, in projects that have the addon."""
    told = severities(files | HERE, base | HERE)
    return [one for one in told if one[0].startswith("functions/")]


@pytest.mark.usefixtures("without_mail")
def test_a_step_that_is_changed_or_copied_is_an_error() -> None:
    base = sample(functions__tell=SEND)
    changed = sample(functions__tell=SEND.replace("One", "Two"))
    assert of_steps(changed, base) == [("functions/tell.yaml", "error")]
    copied = sample(functions__tell=SEND, functions__again=SEND)
    assert of_steps(copied, base) == [
        ("functions/again.yaml", "error"), ("functions/tell.yaml", "warning"),
    ]  # fmt: skip


@pytest.mark.usefixtures("without_mail")
def test_other_edits_of_its_file_and_a_move_leave_it_a_warning() -> None:
    base = sample(functions__tell=SEND)
    edited = (
        "description: Tells.\nsteps:\n  # why\n  - email.sendEmail:\n      to: a@b.example\n"
        "      subject: One\n"
    )
    edited = sample(functions__tell=f"{edited}      text: Hello\n{CLEAN[7:]}")
    assert of_steps(edited, base) == [("functions/tell.yaml", "warning")]
    assert of_steps(sample(functions__told=SEND), base) == [("functions/told.yaml", "warning")]


@pytest.mark.usefixtures("without_agents")
def test_a_kind_that_is_changed_is_an_error() -> None:
    here = {"agents/helper.yaml": HELPER}
    changed = {"agents/helper.yaml": HELPER.replace("Answer questions", "Ask")}
    assert severities(sample() | here, sample() | here) == [("agents/helper.yaml", "warning")]
    assert severities(sample() | changed, sample() | here) == [("agents/helper.yaml", "error")]


def test_a_key_that_is_not_run_is_told_where_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_webhooks(monkeypatch)
    files = sample(
        triggers__called="webhook: { path: /in, signature: { header: x-sign, secret:"
        " '${ env.JWT_SECRET }' } }\nfunction: clean\n",
        functions__clean=CLEAN,
    )
    assert severities(files) == [("triggers/called.yaml", "error")]


@pytest.mark.usefixtures("without_mail")
def test_an_addon_without_steps_that_run_is_told_unless_it_is_disabled() -> None:
    text = "enabled: true\nconfig: { apiKey: '${ env.JWT_SECRET }' }\n"
    assert severities(sample(addons__chatModel=text)) == [("addons/chatModel.yaml", "error")]
    assert severities(sample(addons__chatModel=text.replace("true", "false"))) == []


@pytest.mark.usefixtures("without_mail")
def test_a_warm_cache_says_the_same() -> None:
    cache, base = Cache(), MemoryTree(sample(functions__tell=SEND) | HERE)
    more = MemoryTree(sample(functions__tell=SEND, functions__again=SEND) | HERE)
    for _ in range(2):
        assert validate(base, cache, base=base)[0] is not None
        assert validate(more, cache, base=base)[0] is None
        assert validate(base, cache)[0] is None


# ---- bbops validate
@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = write(tmp_path / "shop", sample() | HERE)
    git(folder, "init", "-q", "-b", "main")
    return folder


def validated(folder: Path) -> list[str]:
    result = CliRunner().invoke(RootGroup("bbops"), ["validate", str(folder), "--json"])
    found = json.loads(result.stdout)["diagnostics"]
    return [one["severity"] for one in found if one["code"] == CODE]


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Change")


@pytest.mark.usefixtures("without_mail")
def test_validate_compares_with_what_is_committed(checkout: Path) -> None:
    assert validated(checkout) == ["error"]
    commit(checkout)
    assert validated(checkout) == ["warning"]
    (checkout / "functions/tell.yaml").write_text(SEND)
    assert sorted(validated(checkout)) == ["error", "warning"]
    shutil.rmtree(checkout / ".git")
    assert validated(checkout) == ["error", "error"]


@pytest.mark.usefixtures("without_mail")
def test_a_branch_is_compared_with_main_and_main_with_its_origin(checkout: Path) -> None:
    (checkout / "addons/email.yaml").unlink()
    commit(checkout)
    git(checkout.parent, "clone", "-q", str(checkout), "clone")
    clone = checkout.parent / "clone"
    write(clone, HERE)
    commit(clone)
    assert validated(clone) == ["error"]  # origin/main does not have it
    write(checkout, HERE)
    git(checkout, "checkout", "-qb", "draft")
    commit(checkout)
    assert validated(checkout) == ["error"]  # main does not have it


# ---- it goes by itself
def test_a_kind_with_a_module_that_runs_it_is_not_reported() -> None:
    assert severities(sample(agents__helper=HELPER)) == []
    assert "agents" not in find_unsupported_parts().kinds


@pytest.mark.usefixtures("without_agents")
def test_a_kind_without_its_module_is_reported_and_each_page_needs_its_mark() -> None:
    assert severities(sample(agents__helper=HELPER)) == [("agents/helper.yaml", "error")]
    wrong = [line for page in PAGES for line in find_wrong_marks(page)]
    assert {line.partition(": ")[2] for line in wrong} == {"agents"}
    assert "docs/language.md" in {line.partition(":")[0] for line in wrong}


# ---- marks
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_a_page_marks_what_this_version_does_not_run_and_nothing_else(page: Path) -> None:
    """If not: run `python -m tests.docs`; marks of single words are set by hand."""
    assert list(find_wrong_marks(page)) == []
    assert page.read_text() == with_sentence(page.read_text())


@pytest.mark.usefixtures("without_mail", "without_agents")
def test_a_missing_mark_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setattr("tests.docs.marks.ROOT", tmp_path)
    page.write_text("`agents/` and `email.sendEmail`, [publish](language/steps/publish.md) ° x\n")
    assert list(find_wrong_marks(page)) == [
        "page.md: agents", "page.md: email.sendEmail", "page.md: publish °",
    ]  # fmt: skip


def test_what_is_not_run_says_which_module_will_run_it() -> None:
    absent = find_unsupported_parts()
    named = {name for name, one in {**kinds(), **step_kinds()}.items() if one.run_by}
    assert {*absent.kinds, *absent.steps} <= named
