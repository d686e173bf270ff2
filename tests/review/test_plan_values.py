"""Plans as values: what holds for every pair of projects, and what the live database adds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from bbops.base.diagnostics import has_errors
from bbops.base.errors import BbopsError
from bbops.compiler.check import validate
from bbops.database.migrate import migrate
from bbops.language.project import Project
from bbops.review.plan.live import complete, read_answer
from bbops.review.plan.plan import Document, Plan, describe, digest, encode, plan, tree_id
from bbops.review.plan.render.markdown import MOST, escape, render_markdown
from bbops.review.plan.render.text import WIDTH, render_text
from bbops.source.tree import Entry, FolderTree, MemoryTree
from bbops_server.commands.db import command as db
from tests.conftest import ROOT, Files
from tests.support.planning import CASES, FOLDER, files_of, project, read_case, starting_files

SAMPLES = [ROOT / "tests/samples/blog", ROOT / "tests/samples/saas", ROOT / "project-template"]
MOVABLE = (
    "agents/helper.yaml", "triggers/paid.yaml", "realtime/orders.yaml", "endpoints/users.yaml",
    "endpoints/orders/get.yaml",
)  # fmt: skip
"""Files that no other file names."""


class Shuffled(MemoryTree):
    """The same files, listed in another order."""

    def __init__(self, files: Files, seed: int) -> None:
        super().__init__(files)
        self._random = Random(seed)

    def entries(self) -> Sequence[Entry]:
        found = [*super().entries()]
        self._random.shuffle(found)
        return found


def case(name: str) -> Document:
    return read_case(FOLDER / name).document


def alone(files: Files, seed: int = 0) -> Project | None:
    """Return the project of files, read without any that was read before."""
    found, diagnostics = validate(Shuffled(files, seed))
    return None if has_errors(diagnostics) else found


def read_alone(files: Files) -> Project:
    """Return a project that shares nothing with others."""
    tree = MemoryTree(files)
    found, _ = validate(tree, base=tree)
    assert found is not None
    return found


@cache
def of_sample(folder: Path) -> Project:
    return project(files_of(folder))


@pytest.mark.parametrize("folder", SAMPLES, ids=lambda folder: folder.name)
def test_the_same_project_changes_nothing(folder: Path) -> None:
    found = of_sample(folder)
    assert plan(found, found).is_empty


@pytest.mark.parametrize("old", SAMPLES, ids=lambda folder: folder.name)
@pytest.mark.parametrize("new", SAMPLES, ids=lambda folder: folder.name)
def test_any_project_may_become_any_other(old: Path, new: Path) -> None:
    found = plan(of_sample(old), of_sample(new))
    document = describe(found, FolderTree(old), FolderTree(new))
    assert len(render_markdown(document)) <= MOST
    assert found.is_empty == (old == new)
    assert msgspec.convert(encode(document), Document) == document


@pytest.mark.long
@settings(max_examples=12, deadline=None)
@given(cases=st.sets(st.sampled_from(CASES), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_a_plan_does_not_depend_on_the_order_of_files(cases: set[Path], seed: int) -> None:
    files = starting_files()
    changed = dict(files)
    for one in sorted(cases):
        changed |= files_of(one / "head")
    changed = {path: text for path, text in changed.items() if text}
    heads = [alone(changed, order) for order in (seed, seed + 1)]
    bases = [alone(files, order) for order in (seed, seed + 1)]
    plans = [plan(b, h) for b, h in zip(bases, heads, strict=True) if b is not None and h]
    assert len({digest(one, []) for one in plans}) <= 1
    assert all(plan(head, head).is_empty for head in heads if head is not None)


@pytest.mark.long
@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_plan_of_projects_that_share_their_resources_is_the_same(folder: Path) -> None:
    sides = read_case(folder)
    shared = plan(project(sides.base), project(sides.head))
    base, head = (read_alone(files) for files in (sides.base, sides.head))
    assert digest(shared, []) == digest(plan(base, head), [])


@pytest.mark.parametrize("path", MOVABLE)
def test_a_file_that_only_moves_is_renamed_and_nothing_else_happens(path: str) -> None:
    files = dict(starting_files())
    head = dict(files)
    head[path.replace(".yaml", "-moved.yaml")] = head.pop(path)
    found = plan(project(files), project(head))
    (change,) = found.resources
    assert (change.verb, change.file) == ("renamed", path.replace(".yaml", "-moved.yaml"))
    assert replace(found, resources=()).is_empty


def test_a_file_with_a_twin_is_paired_once() -> None:
    files = dict(starting_files())
    twin = files["tables/orders.yaml"]
    files |= {"tables/a.yaml": twin, "tables/b.yaml": twin}
    head = {path: text for path, text in files.items() if path != "tables/a.yaml"}
    (change,) = plan(project(files), project(head)).resources
    assert (change.verb, change.file) == ("removed", "tables/a.yaml")


def test_a_value_of_another_type_is_a_change() -> None:
    files = dict(starting_files())
    path = "functions/users-list.yaml"
    head = {**files, path: files[path].replace("value: {", "value: { more: true,")}
    base = {**files, path: files[path].replace("value: {", "value: { more: 1,")}
    (change,) = plan(project(base), project(head)).resources
    assert (change.verb, change.keys) == ("changed", ("steps",))


def test_the_order_of_keys_is_no_change() -> None:
    files = dict(starting_files())
    text = files["endpoints/users.yaml"]
    head = {**files, "endpoints/users.yaml": "".join(reversed(text.splitlines(keepends=True)))}
    assert plan(project(files), project(head)).is_empty


def test_a_table_that_moves_without_a_word_loses_its_rows() -> None:
    files = dict(starting_files())
    base = {**files, "tables/tags.yaml": files["tables/orders.yaml"]}
    head = {**files, "tables/labels.yaml": files["tables/orders.yaml"]}
    found = plan(project(base), project(head))
    assert next((one.kind, one.risk) for one in found.tables) == ("drop table", "destructive")
    assert {one.verb for one in found.resources} == {"added", "removed"}


# ---- rules
def test_a_proposal_is_judged_by_the_rules_it_would_loosen() -> None:
    found = case("review-loosened").plan
    assert (found.rules.main, found.rules.destructive) == ("proposals", 2)
    assert found.verdict.approvals == 2


def test_too_many_removals_are_refused_with_the_share() -> None:
    (why,) = case("too-much-removed").plan.verdict.refused
    assert why.startswith("5 of 22 resources would be removed (23 %), at most 20 % may be")


def test_values_that_are_set_are_no_need() -> None:
    sides = read_case(FOLDER / "addon-enabled")
    base, head = project(sides.base), project(sides.head)
    known = plan(base, head, values={"JWT_SECRET", "PARTNER_KEY", "PAID_SECRET", "AI_API_KEY"})
    assert [one.name for one in known.needs.env] == ["CHAT_URL"]
    every = plan(base, head, values={*head.settings.model.env})
    assert (every.needs.env, every.needs.known) == ((), True)


def test_the_first_channel_needs_its_feature() -> None:
    files = starting_files()
    kept = ("channels/", "endpoints/orders/", "agents/")
    base = {path: text for path, text in files.items() if not path.startswith(kept)}
    assert plan(project(base), project(files)).needs.features == ("restChannels",)


# ---- the live database
@pytest.fixture
def dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Plan, str]:
    """A plan that drops a column, and what `bbops db plan --json` says of its rows."""
    sides = read_case(FOLDER / "column-dropped")
    base, head = project(sides.base), project(sides.head)
    for path, text in sides.head.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    data = tmp_path / ".bbops/state/data.sqlite"
    data.parent.mkdir(parents=True)
    seeded = base.tables["users"].model.model_copy(
        update={"seed": [{"id": 1, "email": "a@example.com", "name": "A", "password_hash": "x"}]}
    )
    order = {"id": 7, "title": "one", "note": "soon", "user_id": 1}
    orders = base.tables["orders"].model.model_copy(update={"seed": [order]})
    migrate.apply(data, {"users": seeded, "orders": orders})
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(db, ["plan", "--json"], standalone_mode=False)
    return plan(base, head), done.output


def test_the_live_database_says_which_rows_are_touched(dropped: tuple[Plan, str]) -> None:
    found, told = dropped
    assert [(one.rows, found.looked) for one in found.tables] == [(None, False)]
    full = complete(found, read_answer(json.loads(told)))
    (change,) = full.tables
    assert (full.looked, change.rows, change.keys) == (True, 1, "id 7")
    assert (change.file, change.risk) == ("tables/orders.yaml", "destructive")
    assert full.verdict.approvals == 2


def test_a_change_that_cannot_be_made_is_refused(dropped: tuple[Plan, str]) -> None:
    found, told = dropped
    answer = json.loads(told)
    answer["changes"][0] |= {"risk": "impossible", "why": "rows refer to nothing"}
    (why,) = complete(found, read_answer(answer)).verdict.refused
    assert why == "drop column 'orders.note' cannot be made: 1 row refers to nothing"


def test_an_answer_may_say_which_values_are_set() -> None:
    found = case("addon-enabled").plan
    answer = {"hash": None, "waits": False, "changes": [], "env": ["CHAT_URL"]}
    assert complete(found, read_answer(answer)).needs.env == ()


@pytest.mark.parametrize("odd", [[], {"changes": 3}, {"hash": "a", "waits": False}, b"x", b"\xff"])
def test_what_is_no_answer_is_refused_with_the_command_that_gives_one(odd: Any) -> None:
    with pytest.raises(BbopsError, match="this is not what 'bbops db plan --json' prints") as told:
        read_answer(odd)
    assert told.value.hint == "bbops db plan --json | bbops plan --rows -"


# ---- its name
def test_a_digest_names_the_changed_files_and_what_is_done(dropped: tuple[Plan, str]) -> None:
    found, told = dropped
    full = complete(found, read_answer(json.loads(told)))
    one, other = [("a.yaml", "1")], [("a.yaml", "2")]
    names = [digest(found, one), digest(found, other), digest(found, []), digest(full, one)]
    assert len(set(names)) == 4
    assert digest(found, [*one, ("b.yaml", "1")]) == digest(found, [("b.yaml", "1"), *one])


def test_what_others_merge_beside_a_plan_does_not_rename_it() -> None:
    files = dict(starting_files())
    mine = {"functions/users-list.yaml": files["functions/users-list.yaml"] + "# mine\n"}
    route = files["endpoints/orders/get.yaml"]
    mine["endpoints/orders/more.yaml"] = route.replace("path: /", "path: /more/")
    other = {"functions/beside.yaml": "steps:\n  - return: { value: 1 }\n"}
    alone = digest_of(files, files | mine)
    assert digest_of(files | other, files | other | mine) == alone
    assert digest_of(files, files | mine | other) != alone


def digest_of(base: Mapping[str, str], head: Mapping[str, str]) -> str:
    trees = [MemoryTree(dict(one)) for one in (base, head)]
    return describe(plan(project(base), project(head)), *trees).digest


def test_numbers_of_rows_do_not_rename_a_plan(dropped: tuple[Plan, str]) -> None:
    found, told = dropped
    more = json.loads(told)
    more["changes"][0] |= {"rows": 9, "keys": "id 1, 2, 3 …"}
    plans = [complete(found, read_answer(one)) for one in (json.loads(told), more)]
    assert digest(plans[0], []) == digest(plans[1], [])


def test_a_folder_and_a_commit_with_the_same_files_have_one_id() -> None:
    assert tree_id(FolderTree(FOLDER / "project")) == tree_id(MemoryTree(starting_files()))


# ---- for readers
def large(document: Document, times: int) -> Document:
    found = document.plan
    return replace(document, plan=replace(found, breaks=found.breaks * times))


def test_a_comment_is_never_too_long_and_says_what_it_leaves_out() -> None:
    text = render_markdown(large(case("hostile-text"), 5000))
    assert len(text) <= MOST
    assert re.search(r"\| and 4\d{3} more \|", text)


@given(text=st.text(max_size=60))
def test_what_a_project_says_stays_in_its_cell(text: str) -> None:
    shown = escape(text)
    assert "\n" not in shown
    assert "<" not in shown
    assert "|" not in shown.replace("\\\\", "").replace("\\|", "")
    assert all(part[:1] in {"&", ""} for part in shown.split("@")[1:])


def test_nobody_is_mentioned_by_a_plan() -> None:
    text = render_markdown(case("hostile-text"))
    assert "@&#8203;everyone" in text
    assert "<img" not in text


@pytest.mark.long
@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_a_terminal_gets_plain_lines_that_fit(folder: Path) -> None:
    lines = render_text(read_case(folder).document).splitlines()
    assert all(len(line) <= WIDTH or " " not in line.strip() for line in lines)
    assert "\x1b" not in "".join(lines)


def test_colours_are_there_where_somebody_sees_them() -> None:
    assert "\x1b[" in render_text(case("route-removed"), color=True)


def test_the_json_says_its_version_first() -> None:
    assert next(iter(encode(case("route-removed")).items())) == ("version", 1)
