"""Nothing an agent says writes what is live, leaves the project, or reads what is not its own."""

from __future__ import annotations

import os
import string
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.models import FOLDERS
from bbops.interfaces.mcp.refs import parse_ref, ref_of
from bbops.interfaces.mcp.tool import ToolError
from bbops.source.git.proposals import PREVIEW
from bbops.source.git.writing import NOTHING, make_commit, put_files, write_blobs
from tests.support.checkouts import HELLO, TOOLS, Agent, agent, make_repository, small_repository
from tests.support.served import git
from tests.support.small_project import FILES

__all__ = ["agent", "small_repository"]

LIVE = (
    "main", "refs/heads/main", "heads/main", "refs/tags/v1", "tags/v1", "v1", "HEAD", "head", "@",
    "main~0", "main^{commit}", "@{-1}", "topic@{0}", "a..b", "..", "../main", "-x",
    "--upload-pack", "a b", "a\nb", "a\0b", "topic.lock", "topic/", "/topic", "topic//x",
    ".topic", "a/.b", "*", "ma*n", "proposal-1", "proposal-12/x", "snapshot/x",
    "refs/pull/1/head", "pull/1/head", "for/main", "origin/main", "deadbeef", "A", "ma\u200bin",
    "\u0430", "main ", " main", "fetch_head", "bbops/x", "a" * 101, "",
)  # fmt: skip
"""Names that are the live branch, or could be taken for it or for another thing than a draft."""
SERIES = int(os.environ.get("BBOPS_HOSTILE_SERIES", "16"))
"""Of calls, in CI."""
NONE = f"p1.{'a' * 40}.{'b' * 40}.{'0' * 40}"
CHANGE = {"op": "put", "ref": "function/hello", "body": HELLO}


# ---- what is live
@pytest.mark.long
def test_no_name_of_a_draft_leads_to_what_is_live(agent: Agent) -> None:
    git(agent.folder, "tag", "v1")
    before = agent.refs()
    plan = agent.call("preview_changes", changes=[CHANGE])["plan"]
    for draft in LIVE:
        agent.refused("apply_changes", draft=draft, plan=plan, message="x")
        for more in ({}, {"delete": True}, {"to": agent.place._repository.head}):
            agent.refused("recovery_reset_draft", draft=draft, **more)
    assert agent.refs() == before


def test_branches_that_other_projects_follow_are_live_too(tmp_path: Path) -> None:
    one = Agent(make_repository(tmp_path / "shop"), taken=frozenset({"other"}))
    git(one.folder, "branch", "other")
    plan = one.call("preview_changes", changes=[CHANGE])["plan"]
    for tool, arguments in {
        "apply_changes": {"plan": plan, "message": "x"},
        "recovery_reset_draft": {"delete": True},
    }.items():
        assert "is live" in one.refused(tool, draft="other", **arguments).message


texts = st.text(max_size=12) | st.sampled_from([*LIVE, "topic", "function/hello", "v1", NONE])
values = st.none() | st.booleans() | st.integers(-5, 10**9) | texts | st.lists(texts, max_size=3)


def forget(folder: Path) -> None:
    """Remove all that calls before have made: each series begins at the same place."""
    listed = git(folder, "for-each-ref", "--format=%(refname)").splitlines()
    for ref in listed:
        if ref not in {"refs/heads/main", "refs/tags/v1"}:
            git(folder, "update-ref", "-d", ref)


class Machine(RuleBasedStateMachine):
    """Calls every tool with what is right, nearly right, and noise; `main` never moves."""

    folder: Path

    def __init__(self) -> None:
        super().__init__()
        forget(self.folder)
        self.agent = Agent(self.folder)
        self.main, self.tags = self.agent.tip(), git(self.folder, "tag", "-l", "v*")
        self.plans: list[str] = []

    def teardown(self) -> None:
        self.agent.place.close()

    def call(self, tool: str, **arguments: Any) -> dict[str, Any] | None:
        try:
            return self.agent.call(tool, **arguments)
        except ToolError:
            return None

    @rule(draft=st.sampled_from(["", "one", "two", "main"]), version=st.integers(1, 9))
    def preview(self, draft: str, version: int) -> None:
        body = {"steps": [{"return": {"value": {"version": version}}}]}
        change = {"op": "put", "ref": "function/hello", "body": body}
        found = self.call("preview_changes", draft=draft, changes=[change])
        if found is not None:
            self.plans.append(found["plan"])

    @precondition(lambda self: self.plans)
    @rule(draft=st.sampled_from(["one", "two", *LIVE]), data=st.data())
    def apply(self, draft: str, data: Any) -> None:
        plan = data.draw(st.sampled_from(self.plans))
        self.call("apply_changes", draft=draft, plan=plan, message="x")

    @rule(draft=st.sampled_from(["one", "two", *LIVE]), delete=st.booleans(), to=texts)
    def reset(self, draft: str, delete: bool, to: str) -> None:
        self.call("recovery_reset_draft", draft=draft, delete=delete)
        self.call("recovery_reset_draft", draft=draft, to=to)

    @rule(tool=st.sampled_from([*TOOLS]), data=st.data())
    def noise(self, tool: str, data: Any) -> None:
        fields = [one.encode_name for one in msgspec.structs.fields(TOOLS[tool].takes)]
        names = st.lists(st.sampled_from([*fields, "other"]), unique=True)
        self.call(tool, **{name: data.draw(values) for name in data.draw(names)})

    @invariant()
    def main_is_as_it_was(self) -> None:
        assert self.agent.tip() == self.main
        assert git(self.folder, "tag", "-l", "v*") == self.tags
        assert git(self.folder, "status", "--porcelain") == ""
        assert git(self.folder, "rev-parse", "--abbrev-ref", "HEAD") == "main"


@pytest.mark.parametrize("series", [3, pytest.param(SERIES, marks=pytest.mark.long)])
def test_no_series_of_calls_moves_what_is_live(tmp_path: Path, series: int) -> None:
    Machine.folder = make_repository(tmp_path / "shop")
    Machine.TestCase.settings = settings(
        max_examples=series, stateful_step_count=12, deadline=None,
        suppress_health_check=[*HealthCheck],
    )  # fmt: skip
    Machine.TestCase("runTest").runTest()


@settings(max_examples=60, deadline=None)
@given(st.text("abv10./-_@{~^:*? [\\\n", max_size=8) | texts)
def test_a_name_is_refused_or_one_that_git_takes_for_a_branch(text: str) -> None:
    try:
        name = ProjectRepository.require_name(None, text)  # type: ignore[arg-type]
    except ToolError:
        return
    assert name == text
    assert name not in LIVE[1:]  # which branch is live is known to a bench alone
    git(Path(), "check-ref-format", "--branch", name)


# ---- plans that somebody made up
@pytest.fixture
def bench(agent: Agent) -> ProjectRepository:
    return agent.place._repository


def forge(bench: ProjectRepository, files: dict[str, tuple[str, bytes]]) -> str:
    """Return a plan that no preview made."""
    place = bench.store.place
    blobs = write_blobs(place, [data for _, data in files.values()])
    put = {path: (mode, blob) for (path, (mode, _)), blob in zip(files.items(), blobs, strict=True)}
    return f"p1.{bench.head}.{put_files(place, bench.head, put)}.{NOTHING}"


STRAY = (
    (".github/workflows/x.yaml", "100644"), (".gitattributes", "100644"),
    (".gitmodules", "100644"), ("hooks/pre-commit", "100755"), ("README.md", "100644"),
    ("functions/x.sh", "100644"), ("functions/hello.yaml", "100755"),
    ("functions/hello.yaml", "120000"), ("frontend/index.html", "100644"),
    ("functions/UP.yaml ", "100644"), ("docs/a/b.md", "100644"),
    ("functions/.hidden.yaml", "100644"), ("Functions/x.yaml", "100644"),
)  # fmt: skip


@pytest.mark.long
def test_a_plan_changes_resources_alone(agent: Agent, bench: ProjectRepository) -> None:
    for path, mode in STRAY:
        plan = forge(bench, {path: (mode, b"steps: []\n")})
        refused = agent.refused("apply_changes", draft="topic", plan=plan, message="x")
        assert "not a resource of the project" in refused.message, path
    assert agent.tip("refs/heads/topic") == ""


def test_a_plan_stays_in_the_folder_of_the_project(tmp_path: Path) -> None:
    make_repository(tmp_path / "shop")
    one = Agent(tmp_path / "shop", under="functions")
    plan = forge(one.place._repository, {"endpoints/hello.yaml": ("100644", b"method: GET\n")})
    refused = one.refused("apply_changes", draft="topic", plan=plan, message="x")
    assert "not a resource of the project" in refused.message


def test_a_plan_is_not_as_large_as_anybody_likes(agent: Agent, bench: ProjectRepository) -> None:
    files = {
        f"docs/page{number}.md": ("100644", bytes([97 + number]) * (1 << 20)) for number in range(9)
    }
    refused = agent.refused("apply_changes", draft="topic", plan=forge(bench, files), message="x")
    assert "too large" in refused.message


def test_a_plan_builds_on_what_is_live_or_on_the_draft(
    agent: Agent, bench: ProjectRepository
) -> None:
    place = bench.store.place
    tree = bench.store.trees([bench.head])[bench.head]
    aside = make_commit(place, tree, [], "Nobody's")
    other = put_files(place, aside, {"functions/hello.yaml": None})
    plan = f"p1.{aside}.{other}.{NOTHING}"
    refused = agent.refused("apply_changes", draft="topic", plan=plan, message="x")
    assert "preview" in refused.hint
    assert agent.tip("refs/heads/topic") == ""


def test_what_is_no_plan_is_refused(agent: Agent) -> None:
    for plan in ("p1", "", NONE, NONE + "x", "HEAD", "--help", f"p1.{'a' * 40}.HEAD.{'0' * 40}"):
        agent.refused("apply_changes", draft="topic", plan=plan, message="x")


# ---- names
@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40) | st.builds(
    "{}/{}".format, st.sampled_from([*FOLDERS]), st.text(string.printable, max_size=30)
))  # fmt: skip
def test_a_ref_is_refused_or_names_a_file_of_its_kind(text: str) -> None:
    try:
        ref = parse_ref(text)
    except ToolError:
        return
    assert ref_of(ref.file) == ref == parse_ref(str(ref))
    parts = ref.file.split("/")
    assert all(one and not one.startswith(".") for one in parts)
    assert ref.file == "project.yaml" or parts[0] == FOLDERS[ref.kind]


@pytest.mark.long
def test_what_is_read_is_a_branch(agent: Agent) -> None:
    for draft in (*LIVE[1:-1], f"{PREVIEW}9"):
        agent.refused("context_list", draft=draft)
        agent.refused("context_read", draft=draft, refs=["settings"])
        agent.refused("preview_changes", draft=draft, changes=[CHANGE])
    assert "there is no draft" in agent.refused("context_list", draft="gone").message


def test_a_message_is_only_a_message(agent: Agent) -> None:
    plan = agent.call("preview_changes", changes=[CHANGE])["plan"]
    message = "--amend\n\nRelease: 9\n\0\x1b[31m"
    agent.call("apply_changes", draft="topic", plan=plan, message=message)
    assert git(agent.folder, "log", "-1", "--format=%s", "topic") == "--amend"
    assert git(agent.folder, "rev-list", "--count", "main..topic") == "1"


# ---- what it costs
def test_a_body_without_end_is_refused(agent: Agent) -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = {"a": deep}
    change = {"op": "put", "ref": "function/hello", "body": {"steps": deep}}
    assert "levels deep" in agent.refused("preview_changes", changes=[change]).message
    change = {"op": "put", "ref": "doc/long", "body": {"text": "x" * (2 << 20)}}
    assert "at most" in agent.refused("preview_changes", changes=[change]).message


@pytest.mark.long
def test_no_result_is_longer_than_an_agent_reads(tmp_path: Path) -> None:
    long = {f"docs/page{number}.md": "word " * 4_000 for number in range(12)}
    long |= {
        f"functions/f{number}.yaml": f"description: {'d' * 900}\n" + FILES["functions/hello.yaml"]
        for number in range(120)
    }
    one = Agent(make_repository(tmp_path / "shop", long))
    changes = [
        {"op": "put", "ref": f"doc/page{number}", "body": {"text": "other " * 4_000}}
        for number in range(12)
    ]
    for tool, arguments in {
        "context_list": {"limit": 100},
        "context_read": {"refs": [f"doc/page{n}" for n in range(12)]},
        "preview_changes": {"changes": changes},
        "validate_draft": {},
        "context_get": {},
        "review_contract": {"format": "json"},
        "context_schema": {"step": "find"},
        "recovery_history": {"limit": 100},
    }.items():
        size = len(msgspec.json.encode(one.call(tool, **arguments)))
        assert size < 40_000, (tool, size)
