"""A finding carries the change that makes it go, where there is exactly one."""

from __future__ import annotations

from functools import cache

import pytest
from msgspec import UNSET

from bbops.base.diagnostics import Diagnostic, Place, suggest
from bbops.base.errors import BbopsError
from bbops.compiler.check import validate
from bbops.edit.authoring.changing import ChangedTree
from bbops.edit.authoring.topics import read_codes
from bbops.edit.fixes import find_edit
from bbops.interfaces.mcp.drafting.file_changes import change_files
from bbops.interfaces.mcp.drafting.files import delete_in, put_in, rename_in
from bbops.interfaces.mcp.drafting.fixes import Fixes
from bbops.interfaces.mcp.models import DraftChange
from bbops.interfaces.mcp.tool import ToolError
from bbops.source.tree import MemoryTree
from bbops.source.yaml.document import load
from bbops.source.yaml.edit import splice
from tests.conftest import FRAGMENTS, with_function
from tests.docs.codes import Shown, read_examples
from tests.support.checkouts import Agent, agent, small_repository

pytestmark = pytest.mark.quick

__all__ = ["agent", "small_repository"]

FIXED = {
    "addon-config", "bad-value", "bare-expression", "expression-syntax", "forgotten-braces",
    "not-secret", "order", "same-sides", "sql", "undeclared-query", "unheard-event",
    "unknown-channel", "unknown-column",
    "unknown-endpoint", "unknown-env", "unknown-event", "unknown-field", "unknown-filter",
    "unknown-function", "unknown-key", "unknown-realtime", "unknown-role", "unknown-step",
    "unknown-table", "unknown-task", "unknown-trigger", "unknown-type", "unknown-webhook",
}  # fmt: skip
"""The codes whose examples in docs/errors are fixed."""


@cache
def offered() -> list[tuple[Diagnostic, DraftChange, Shown, set[str]]]:
    """Return each fix that a wrong example of docs/errors is offered, with all of its codes."""
    wrong = [one for code in read_codes().values() for one in read_examples(code.examples)
             if one.verdict == "wrong"]  # fmt: skip
    found = []
    for shown in wrong:
        tree = MemoryTree(shown.project)
        every = validate(tree)[1]
        codes, fixes = {one.code for one in every}, [(one, Fixes(tree).find(one)) for one in every]
        found += [(one, fix, shown, codes) for one, fix in fixes if fix is not UNSET]
    return found


@pytest.mark.long
def test_the_cures_that_are_known_exactly_are_offered() -> None:
    assert {wrong.code for wrong, *_ in offered()} == FIXED


@pytest.mark.parametrize("code", sorted(FIXED))
def test_a_finding_goes_by_its_fix(code: str) -> None:
    for wrong, fix, shown, before in (one for one in offered() if one[0].code == code):
        tree = MemoryTree(shown.project)
        _, after = validate(ChangedTree(tree, change_files(tree, [fix])), base=tree)
        assert (wrong.code, wrong.message) not in {(one.code, one.message) for one in after}
        assert not {one.code for one in after} - before - FRAGMENTS


def fixed(function: str) -> list[object]:
    """Return the value or key of each fix that the findings of a function are offered."""
    tree = MemoryTree(with_function(function))
    fixes = [Fixes(tree).find(one) for one in validate(tree)[1]]
    return [one.to or one.value for one in fixes if one is not UNSET]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("input.a&&input.b", "input.a and input.b"),
        ("!input.a", "not input.a"),
        ("input.a = true", "input.a == true"),
    ],
)
def test_a_sign_becomes_a_word_with_room_around_it(written: str, meant: str) -> None:
    steps = f'steps:\n- if: "{written}"\n  then:\n  - return: {{ value: 1 }}\n'
    assert fixed(f"input: {{ a: boolean, b: boolean }}\n{steps}") == [meant]


def test_what_follows_a_type_stays() -> None:
    assert fixed("input: { a: int?, b: 'bool[]' }\nsteps: []\n")[:2] == ["integer?", "boolean[]"]


def test_only_the_wrong_part_of_a_word_is_written() -> None:
    source = "steps:\n- find: { table: notes, orderBy: titel.desc } # notes.titel\n"
    place = Place("functions/run.yaml", 2, 34)
    message, hint = "table 'notes' has no column 'titel'", suggest("titel", ["title"])
    edit = find_edit(Diagnostic(place, "unknown-column", message, hint), load(source.encode()))
    assert edit is not None
    assert splice(source, [edit]) == source.replace("orderBy: titel", "orderBy: title")


def test_a_word_that_stands_there_twice_is_left_to_people() -> None:
    source = 'steps:\n- return: { value: "${ 1 + input.titel + input.titel }" }\n'
    found = Diagnostic(Place("functions/run.yaml", 2, 23), "unknown-field",
                       "input has no field 'titel'", suggest("titel", ["title"]))  # fmt: skip
    assert find_edit(found, load(source.encode())) is None


# ---- as an agent uses it
@pytest.mark.long
def test_an_agent_sends_a_fix_back_as_it_is(agent: Agent) -> None:
    steps = [{"return": {"value": "${ 'a' | uper }"}}]
    wrong = {"op": "put", "ref": "function/hello", "body": {"steps": steps}}
    seen = agent.call("preview_changes", changes=[wrong])
    (found,) = (one for one in seen["diagnostics"] if one["code"] == "unknown-filter")
    assert found["fix"] == {
        "op": "put", "ref": "function/hello", "path": ["steps", 0, "return", "value"],
        "value": "${ 'a' | upper }",
    }  # fmt: skip
    help_ = {"tool": "context_schema", "arguments": {"kind": "function"}}
    assert [{key: one[key] for key in help_} for one in seen["next"]] == [help_]
    again = agent.call("preview_changes", changes=[wrong, found["fix"]])
    assert again["ok"]
    assert {one["code"] for one in again["diagnostics"]} <= {"unused-variable", *FRAGMENTS}


def test_a_finding_without_an_exact_cure_has_no_fix(agent: Agent) -> None:
    wrong = {"op": "put", "ref": "function/hello", "body": {"steps": [{"nothing like it": 1}]}}
    found = agent.call("preview_changes", changes=[wrong])["diagnostics"]
    assert found
    assert all("fix" not in one for one in found)


def test_a_change_inside_of_a_resource_keeps_its_comments() -> None:
    text = "# why\nsteps: # one\n  - return:\n      value: 1 # told\n"
    tree = MemoryTree({"project.yaml": "bbops: 1\nname: a\n", "functions/a.yaml": text})
    inside = DraftChange("put", "function/a", path=["steps", 0, "return", "value"], value=2)
    written = text.replace("value: 1", "value: 2").encode()
    assert change_files(tree, [inside]) == {"functions/a.yaml": written}


def test_a_key_with_another_name_keeps_its_comments() -> None:
    text = "# why\ndescripton: a # told\nstpes:\n  # first\n  - return:\n      value: 1 # one\n"
    tree = MemoryTree({"project.yaml": "bbops: 1\nname: a\n", "functions/a.yaml": text})
    changes = [DraftChange("rename", "function/a", path=["descripton"], to="description"),
               DraftChange("rename", "function/a", path=["stpes"], to="steps")]  # fmt: skip
    written = text.replace("descripton", "description").replace("stpes", "steps").encode()
    assert change_files(tree, changes) == {"functions/a.yaml": written}


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("steps: []\n", DraftChange("delete", "function/a", path=["steps"]), "remove everything"),
        (
            "a: &b 1\n",
            DraftChange("put", "function/a", path=["a"], value=1),
            "separately: line 1: ",
        ),
    ],
)
def test_a_rejected_change_inside_a_file_has_its_reason(
    file: str, change: DraftChange, words: str
) -> None:
    tree = MemoryTree({"project.yaml": "bbops: 1\nname: a\n", "functions/a.yaml": file})
    with pytest.raises(ToolError, match=words):
        change_files(tree, [change])


def test_a_body_and_a_path_are_two_wishes(agent: Agent) -> None:
    change = {"op": "put", "ref": "function/hello", "path": ["steps"], "body": {"steps": []}}
    refused = agent.refused("preview_changes", changes=[change])
    assert "send 'value'" in refused.hint


# ---- entries
BODY = {"a": {"b": [1, {"c": 2}]}, "d": None}


def test_entries_are_put_renamed_and_taken_away() -> None:
    assert put_in(BODY, ["a", "b", 1, "c"], 3) == {"a": {"b": [1, {"c": 3}]}, "d": None}
    assert put_in(BODY, ["d", "e"], 1)["d"] == {"e": 1}
    assert put_in(BODY, ["a", "b", 2], 9)["a"]["b"] == [1, {"c": 2}, 9]
    assert [*rename_in(BODY, ["a"], "z")] == ["z", "d"]
    assert delete_in(BODY, ["a", "b", 0])["a"] == {"b": [{"c": 2}]}
    assert BODY == {"a": {"b": [1, {"c": 2}]}, "d": None}


def test_what_is_no_entry_is_refused() -> None:
    with pytest.raises(BbopsError, match="is a value, not a map"):
        put_in({"a": 1}, ["a", "b"], 1)
    with pytest.raises(BbopsError, match="is a list, not a map"):
        rename_in(BODY, ["a", "b", 0], "c")
    with pytest.raises(BbopsError, match="has 2 entries, but not 3"):
        put_in(BODY, ["a", "b", 3], 1)
    with pytest.raises(BbopsError, match="but not '0'"):
        put_in(BODY, ["a", "b", "0"], 1)
    with pytest.raises(BbopsError, match="nothing exists at 'x'"):
        delete_in(BODY, ["x"])
    with pytest.raises(BbopsError, match="cannot be 'd'"):
        rename_in(BODY, ["a"], "d")
