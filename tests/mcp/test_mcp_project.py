"""The tools of a project on a real repository: what agents read, preview, commit and bring back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bbops.compiler.check._supported import find_unsupported_parts
from bbops.interfaces.cli._root_group import RootGroup
from bbops.interfaces.mcp.drafting.operations import list_operations, run_operation
from bbops.interfaces.mcp.models import FOLDERS, KINDS
from bbops.interfaces.mcp.tool import call, find_tool
from bbops.language.addons._base import kinds as addon_kinds
from bbops.language.addons._base import step_keys
from bbops.language.loading.load import kinds
from bbops.language.steps._base import step_kinds
from bbops.source.git.store import Store
from tests.support.checkouts import (
    HELLO,
    SHOUT,
    TOOLS,
    Agent,
    agent,
    make_repository,
    small_repository,
)
from tests.support.served import git
from tests.support.small_project import write_project

__all__ = ["agent", "small_repository"]

MOST_BYTES = 13_000  # docs/decisions/0085, 0099


def test_what_every_agent_pays_for_is_small() -> None:
    told = [
        {"name": one.name, "description": one.description, "inputSchema": one.input_schema}
        for one in TOOLS.values()
    ]
    assert len(TOOLS) == 25
    assert len(json.dumps(told, separators=(",", ":"))) <= MOST_BYTES


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_says_what_it_is(name: str) -> None:
    tool = TOOLS[name]
    assert len(f"mcp__bbops__{name}") <= 64
    assert tool.category in {
        "context", "preview", "validate", "apply", "publish", "review", "recovery",
        "work",
    }  # fmt: skip
    assert tool.scope in {"project", "builder", "data"}
    is_asked = name in {"preview_request", "work_test_addon"}  # it reads, elsewhere or by hand
    assert tool.hints.reads_only is (tool.scope != "builder") or is_asked
    for schema in (tool.input_schema, tool.output_schema):
        assert schema["type"] == "object"
        assert "$ref" not in json.dumps(schema)


def test_kinds_are_those_of_the_language() -> None:
    known = {model.__name__.lower(): folder for folder, model in kinds().items() if folder}
    assert known | {"doc": "docs", "settings": ""} == FOLDERS
    assert {*KINDS} == {*FOLDERS}


def test_all_work_is_done_by_somebody() -> None:
    assert all(callable(operation.do) for operation in list_operations().values())


# ---- reading
def test_context_says_where_the_project_stands(agent: Agent) -> None:
    agent.put("function/hello", HELLO)
    found = agent.call("context_get")
    assert found["project"] == "small"
    assert found["head"] == agent.tip()
    assert found["counts"] == {"endpoint": 4, "function": 4, "settings": 1, "table": 1}
    assert found["drafts"] == [{"name": "topic", "head": agent.tip("refs/heads/topic"), "ahead": 1}]
    assert found["rules"]["main"] == "direct"
    assert found["may"] == ["read", "change"]


def test_resources_are_listed_with_a_line_each(agent: Agent) -> None:
    found = agent.call("context_list", kind="endpoint")
    assert found["total"] == 4
    assert found["resources"][0] == {
        "ref": "endpoint/add", "file": "endpoints/add.yaml",
        "digest": git(agent.folder, "rev-parse", "HEAD:endpoints/add.yaml"),
        "summary": "POST /notes → add, None · One of four.",
    }  # fmt: skip


def test_pages_hold_every_resource_once(agent: Agent) -> None:
    seen, cursor = [], ""
    while True:
        found = agent.call("context_list", limit=3, cursor=cursor)
        seen += [one["ref"] for one in found["resources"]]
        cursor = found.get("nextCursor", "")
        if not cursor:
            break
    assert len(seen) == len({*seen}) == found["total"] == 10


def test_words_find_resources(agent: Agent) -> None:
    found = agent.call("context_list", query="post notes")
    assert [one["ref"] for one in found["resources"]] == ["endpoint/add"]


def test_a_body_is_the_resource(agent: Agent) -> None:
    found = agent.call("context_read", refs=["function/hello", "settings", "function/helo"])
    assert found["resources"][0]["body"] == {
        "steps": [{"return": {"value": {"text": "${ env.GREETING }", "version": 1}}}]
    }
    assert found["resources"][1]["file"] == "project.yaml"
    assert found["missing"] == {"function/helo": "did you mean 'function/hello'?"}


def test_what_does_not_fit_is_read_next(tmp_path: Path) -> None:
    long = {f"docs/page{n}.md": "word " * 3_000 for n in range(3)}
    found = Agent(make_repository(tmp_path, long)).call(
        "context_read", refs=["doc/page0", "doc/page1", "doc/page2"]
    )
    assert [one["ref"] for one in found["resources"]] == ["doc/page0"]
    assert found["next"][0]["arguments"] == {"refs": ["doc/page1", "doc/page2"]}


def test_a_broken_file_is_told_of(tmp_path: Path) -> None:
    broken = Agent(make_repository(tmp_path, {"functions/hello.yaml": "steps: [\n"}))
    assert "line" in broken.call("context_read", refs=["function/hello"])["resources"][0]["problem"]
    listed = broken.call("context_list", kind="function", query="hello")["resources"]
    assert listed[0]["summary"].startswith("cannot be read: ")


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_the_example_of_a_kind_is_right(agent: Agent, kind: str) -> None:
    found = agent.call("context_schema", kind=kind)
    assert found["example"]
    assert len(json.dumps(found)) < 30_000


def test_every_step_and_addon_has_a_schema(agent: Agent) -> None:
    for step in agent.call("context_schema", kind="function")["choices"]:
        found = agent.call("context_schema", step=step)
        assert step in found["schema"]["properties"]
        assert len(json.dumps(found)) < 30_000
    for addon in agent.call("context_schema", kind="addon")["choices"]:
        found = agent.call("context_schema", addon=addon)
        assert found["choices"]
        assert "config" in found["schema"]["properties"]
        assert agent.call("context_schema", step=next(iter(found["choices"])))["schema"]


def test_a_schema_says_what_this_version_does_not_run(agent: Agent) -> None:
    parts = find_unsupported_parts()
    asked = [
        *({"kind": kind} for kind in KINDS if FOLDERS.get(kind)),
        *({"step": step} for step in [*step_kinds(), *step_keys()]),
        *({"addon": addon} for addon in addon_kinds()),
    ]
    absent = {*parts.kinds, *parts.steps, *parts.addon_steps, *parts.addons}
    for one in asked:
        (name,) = one.values()
        note = agent.call("context_schema", **one).get("note", "")
        told = "this version does not run it yet" in note
        assert told == (FOLDERS.get(name, name) in absent), one


# ---- preview and apply
def test_a_preview_says_what_would_be_and_changes_nothing(agent: Agent) -> None:
    before = agent.refs()
    found = agent.call("preview_changes", changes=[
        {"op": "put", "ref": "function/shout", "body": HELLO},
        {"op": "put", "ref": "endpoint/shout", "body": SHOUT},
        {"op": "delete", "ref": "endpoint/slow"},
    ])  # fmt: skip
    assert found["ok"]
    assert sorted(found["routes"]) == [
        "added GET /shout: authentication None", "removed GET /slow: authentication None",
    ]  # fmt: skip
    assert [one["subject"] for one in found["breaking"]] == ["GET /slow"]
    assert found["files"]["endpoints/slow.yaml"] == "removed"
    assert "+path: /shout" in found["diff"]
    assert agent.refs() == before
    assert git(agent.folder, "status", "--porcelain") == ""


def test_mistakes_have_a_ref_and_a_place(agent: Agent) -> None:
    body = {"steps": [{"return": {"value": "${ vars.nobody }"}}]}
    found = agent.call(
        "preview_changes", changes=[{"op": "put", "ref": "function/hello", "body": body}]
    )
    assert not found["ok"]
    assert (found["diagnostics"][0]["ref"], found["diagnostics"][0]["line"]) == (
        "function/hello", 2,
    )  # fmt: skip


def test_a_table_tells_of_its_migration(agent: Agent) -> None:
    body = agent.call("context_read", refs=["table/notes"])["resources"][0]["body"]
    del body["columns"]["title"]
    uses = {"steps": [{"return": {"value": None}}]}
    found = agent.call("preview_changes", changes=[
        {"op": "put", "ref": "table/notes", "body": body},
        {"op": "put", "ref": "function/add", "body": uses},
    ])  # fmt: skip
    assert [(one["change"].partition(":")[0], one["risk"]) for one in found["migration"]] == [
        ("drop column 'notes.title'", "destructive")
    ]
    assert not found["liveData"]


def test_what_was_previewed_is_what_is_committed(agent: Agent) -> None:
    found = agent.call(
        "preview_changes", changes=[{"op": "put", "ref": "function/hello", "body": HELLO}]
    )
    done = agent.call("apply_changes", draft="topic", plan=found["plan"], message="Say two")
    assert git(agent.folder, "rev-parse", f"{done['commit']}^{{tree}}") in found["plan"]
    assert agent.tip("refs/heads/topic") == done["commit"]
    assert git(agent.folder, "log", "-1", "--format=%s %P", "topic") == f"Say two {agent.tip()}"
    assert agent.show("topic", "functions/hello.yaml") == (
        'steps:\n  - return: { value: { text: "${ env.GREETING }", version: 2 } }'
    )


def test_a_new_draft_is_previewed_by_its_name(agent: Agent) -> None:
    change = {"op": "put", "ref": "function/hello", "body": HELLO}
    found = agent.call("preview_changes", draft="brand-new", changes=[change])
    (again,) = found["next"]
    assert again["arguments"]["draft"] == found["draft"] == "brand-new"
    agent.call(again["tool"], **again["arguments"])
    assert agent.tip("refs/heads/brand-new")


def test_the_same_plan_twice_is_the_same_commit(agent: Agent) -> None:
    change = {"op": "put", "ref": "function/hello", "body": HELLO}
    plan = agent.call("preview_changes", changes=[change])["plan"]
    first = agent.call("apply_changes", draft="topic", plan=plan, message="One")
    agent.change("topic", {"op": "delete", "ref": "endpoint/slow"})
    second = agent.call("apply_changes", draft="topic", plan=plan, message="Two")
    assert second["commit"] == first["commit"]
    assert second["wasThere"]


@pytest.mark.long
def test_a_draft_is_no_folder_of_another(agent: Agent) -> None:
    agent.put("function/hello", HELLO, draft="topic/one")
    change = {"op": "delete", "ref": "endpoint/slow"}
    plan = agent.call("preview_changes", changes=[change])["plan"]
    for draft in ("topic", "topic/one/two", "main/x"):
        refused = agent.refused("apply_changes", draft=draft, plan=plan, message="Change")
        assert "conflicts with branch" in refused.message
        assert "conflicts with branch" in agent.refused(
            "preview_changes", draft=draft, changes=[change]
        ).message  # fmt: skip


def test_calls_at_once_are_one_commit(agent: Agent) -> None:
    change = {"op": "put", "ref": "function/hello", "body": HELLO}
    plan = agent.call("preview_changes", changes=[change])["plan"]
    tool, given = find_tool(TOOLS, "apply_changes"), {"draft": "topic", "plan": plan}
    others = [Agent(agent.folder) for _ in range(3)]

    async def all_at_once() -> list[dict[str, Any]]:
        calls = [call(tool, one.place, given | {"message": f"By {n}"})
                 for n, one in enumerate(others)]  # fmt: skip
        return await asyncio.gather(*calls)

    assert len({one["commit"] for one in asyncio.run(all_at_once())}) == 1
    assert git(agent.folder, "rev-list", "--count", "main..topic") == "1"


def test_files_that_are_checked_out_follow_or_stand_in_the_way(agent: Agent) -> None:
    git(agent.folder, "checkout", "-qb", "topic")
    agent.put("function/hello", HELLO)
    file = agent.folder / "functions/hello.yaml"
    assert "version: 2" in file.read_text()
    file.write_text(f"# mine\n{file.read_text()}")
    change = {"op": "delete", "ref": "endpoint/slow"}
    plan = agent.call("preview_changes", draft="topic", changes=[change])["plan"]
    refused = agent.refused("apply_changes", draft="topic", plan=plan, message="Change")
    assert "is checked out" in refused.message
    assert file.read_text().startswith("# mine")
    assert "is checked out" in agent.refused(
        "recovery_reset_draft", draft="topic", delete=True
    ).message  # fmt: skip


@pytest.mark.long
def test_a_draft_that_moved_is_previewed_again(agent: Agent) -> None:
    agent.put("function/hello", HELLO)
    change = {"op": "delete", "ref": "endpoint/slow"}
    plan = agent.call("preview_changes", draft="topic", changes=[change])["plan"]
    agent.change("topic", {"op": "delete", "ref": "endpoint/add"})
    found = agent.refused("apply_changes", draft="topic", plan=plan, message="Late")
    assert "but the plan builds on" in found.message
    assert found.next[0].tool == "preview_changes"


def test_what_has_changed_since_it_was_read_is_refused(agent: Agent) -> None:
    change = {"op": "put", "ref": "function/hello", "body": HELLO, "base": "a" * 40}
    found = agent.refused("preview_changes", changes=[change])
    assert "has changed since you read it" in found.message
    assert found.next[0].tool == "context_read"


def test_nothing_to_change_is_said(agent: Agent) -> None:
    body = agent.call("context_read", refs=["function/hello"])["resources"][0]["body"]
    change = {"op": "put", "ref": "function/hello", "body": body}
    assert "nothing would change" in agent.refused("preview_changes", changes=[change]).message


def test_a_put_keeps_comments(tmp_path: Path) -> None:
    text = "# why\nsteps:\n  # the answer\n  - return:\n      value: { version: 1 }\n"
    one = Agent(make_repository(tmp_path, {"functions/hello.yaml": text}))
    one.put("function/hello", {"steps": [{"return": {"value": {"version": 2}}}]})
    assert one.show("topic", "functions/hello.yaml") == text.replace("1 }", "2 }").strip()


def test_a_rename_takes_along_what_names_it(agent: Agent) -> None:
    agent.change("topic", {"op": "rename", "ref": "function/hello", "to": "greet"})
    assert "function: greet" in agent.show("topic", "endpoints/hello.yaml")
    assert agent.call("validate_draft", draft="topic")["ok"]


CHANNEL = {
    "channels/desk-v1.yaml": "name: Desk v1\nbasePath: /desk/v1\nauthentication: None\n",
    "endpoints/desk-v1/add.yaml": "# why\nchannel: desk-v1\nmethod: POST\n"
    "path: /notes\nfunction: add\ndescription: Adds. # here\n",
}


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("endpoints/hello", "endpoints/greet", "/greet"),
        ("endpoints/desk-v1/add", "endpoints/more/add", "/more"),
        ("functions/hello", "functions/greet", ""),
        ("channels/desk-v1", "channels/desk-v2", ""),
    ],
)
def test_copy_writes_the_same_tree_as_bbops_copy(
    tmp_path: Path, old: str, new: str, path: str
) -> None:
    one = Agent(make_repository(tmp_path, CHANNEL))
    ref, to = (f"{name.replace('s/', '/', 1)}".replace("/", " ", 1) for name in (old, new))
    ref, to = (name.replace("/", ".").replace(" ", "/") for name in (ref, to))
    changes: list[dict[str, Any]] = [{"op": "copy", "ref": ref, "to": to}]
    changes += [{"op": "put", "ref": to, "path": ["path"], "value": path}] if path else []
    one.change("topic", *changes)
    pairs = ["--set", f"path={path}"] if path else []
    done = CliRunner().invoke(
        RootGroup("bbops"), ["copy", old, new, *pairs, "--path", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    git(tmp_path, "add", "-A")
    assert git(tmp_path, "write-tree") == git(tmp_path, "rev-parse", "topic^{tree}")


def test_copied_endpoint_needs_another_path(agent: Agent) -> None:
    found = agent.call(
        "preview_changes", changes=[{"op": "copy", "ref": "endpoint/hello", "to": "greet"}]
    )
    assert not found["ok"]
    errors = [item["code"] for item in found["diagnostics"] if item["severity"] == "error"]
    assert errors == ["duplicate-route"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ref": "endpoint/nothing", "to": "x"}, "there is no 'endpoint/nothing'"),
        ({"ref": "endpoint/hello", "to": "add"}, "'endpoint/add' already exists"),
        ({"ref": "endpoint/hello", "to": "../add"}, "is not a resource name"),
        ({"ref": "endpoint/hello"}, "is not a resource name"),
        ({"ref": "settings", "to": "x"}, "the settings have no name"),
        ({"ref": "endpoint/hello", "to": "x", "path": ["path"]}, "only has 'ref' and 'to'"),
    ],
)
def test_impossible_copy_is_rejected(agent: Agent, change: dict[str, Any], message: str) -> None:
    refused = agent.refused("preview_changes", changes=[{"op": "copy", **change}])
    assert message in refused.message


def test_page_of_prose_is_copied(agent: Agent) -> None:
    agent.put("doc/orders", {"text": "# Orders\n"})
    agent.change("topic", {"op": "copy", "ref": "doc/orders", "to": "doc/returns"})
    assert agent.show("topic", "docs/returns.md") == agent.show("topic", "docs/orders.md")


def test_a_page_of_prose_is_its_text(agent: Agent) -> None:
    agent.put("doc/orders", {"text": "# Orders\n"})
    assert agent.show("topic", "docs/orders.md") == "# Orders"
    found = agent.call("context_read", refs=["doc/orders"], draft="topic")
    assert found["resources"][0]["body"] == {"text": "# Orders\n"}


# ---- checking
def test_levels_of_checking(agent: Agent) -> None:
    case = {"name": "greets", "expect": {"status": 200, "value": {"text": "hello", "version": 9}}}
    agent.put("test/hello", {"endpoint": "hello", "cases": [case]})
    assert agent.call("validate_draft", draft="topic", level="schema")["ok"]
    found = agent.call("validate_draft", draft="topic", level="test")
    assert not found["ok"]
    assert found["tests"]["failed"] == 1
    assert found["diagnostics"][0]["ref"] == "test/hello"


def test_a_contract_comes_in_one_route_or_in_parts(agent: Agent) -> None:
    found = agent.call("review_contract", path="/notes", format="openapi")
    assert {*json.loads(found["text"])["paths"]} == {"/notes"}
    assert "GET /hello" in found["routes"]
    assert "path" in agent.refused("review_contract", path="/note").message


# ---- several projects in one repository
def test_a_project_sees_and_changes_its_folder_alone(tmp_path: Path) -> None:
    write_project(tmp_path / "left")
    write_project(tmp_path / "right")
    one = Agent(make_repository(tmp_path), under="left", taken=frozenset({"other"}))
    one.put("function/hello", HELLO)
    assert git(tmp_path, "diff", "--name-only", "main", "topic") == "left/functions/hello.yaml"
    assert one.call("context_list")["total"] == 10
    plan = f"p1.{'a' * 40}.{'a' * 40}.{'a' * 40}"
    refused = one.refused("apply_changes", draft="other", plan=plan, message="Change")
    assert "is live" in refused.message


def test_work_crosses_processes_as_json(agent: Agent) -> None:
    bench = agent.place._repository
    found = run_operation(bench, "context_list", {"kind": "table"})
    assert json.loads(json.dumps(found))["total"] == 1
    assert Store.open(agent.folder).resolve("main") == found["commit"]
