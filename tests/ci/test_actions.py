"""The actions of this repository, and the workflow of new projects, run by act."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bbops.interfaces.cli.init import MESSAGE, template_files
from bbops.source.git import store
from tests.support.act import (
    ACTIONS,
    COMMIT,
    WorkflowRun,
    copy_actions,
    open_pull_request,
    run_workflow,
)
from tests.support.ci_issuer import JOB_KEY, CiIssuer, issuer
from tests.support.ci_publishing import CiServer
from tests.support.served import git
from tests.support.small_project import hello

__all__ = ["issuer"]

pytestmark = pytest.mark.install

CHECKOUT = "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683"
WORKFLOW = f"""
name: check
on: [pull_request, merge_group]
permissions: {{}}
jobs:
  check:
    runs-on: ubuntu-latest
    permissions: {{ contents: read }}
    steps:
      - uses: {CHECKOUT}
        with: {{ fetch-depth: 0, persist-credentials: false }}
      - id: bbops
        uses: {ACTIONS}/.github/actions/check@{COMMIT}
      - if: ${{{{ !cancelled() }}}}
        run: echo "valid=$VALID changes=$CHANGES breaking=$BREAKING"
        env:
          VALID: ${{{{ steps.bbops.outputs.valid }}}}
          CHANGES: ${{{{ steps.bbops.outputs.changes }}}}
          BREAKING: ${{{{ steps.bbops.outputs.breaking }}}}
"""
ENDPOINT = "endpoints/notes/list.yaml"


@pytest.fixture(scope="module")
def actions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_actions(tmp_path_factory.mktemp("actions"))


def make_project(folder: Path, *, forge: str = "none", workflow: str = "") -> Path:
    files = template_files("shop", forge)
    if workflow:
        files[".github/workflows/check.yml"] = workflow.encode()
    store.init(folder, files, message=MESSAGE)
    return folder


def change(project: Path, old: str, new: str) -> None:
    """Commit a change of an endpoint on the branch `topic`."""
    git(project, "switch", "-qc", "topic")
    file = project / ENDPOINT
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    git(project, "commit", "-qam", "Change the list of notes")


def test_action_marks_the_line_of_an_error_and_leaves_the_plan_out(
    tmp_path: Path, actions: Path
) -> None:
    project = make_project(tmp_path / "shop", workflow=WORKFLOW)
    change(project, "path:", "paht:")
    event = open_pull_request(project, "topic")
    run = run_workflow(project, "pull_request", event, home=tmp_path / "home", actions=actions)
    assert not run.is_successful
    assert f"::error file={ENDPOINT},line=" in run.log
    assert "title=unknown-key::unknown key 'paht'" in run.log
    assert "### Check: 1 error" in run.log
    assert "valid=false changes= breaking=" in run.log
    assert "Plan the change" not in run.log


def test_action_shows_the_plan_of_a_valid_change_in_the_summary(
    tmp_path: Path, actions: Path
) -> None:
    project = make_project(tmp_path / "shop", workflow=WORKFLOW)
    change(project, "path: /notes", "path: /memos")
    event = open_pull_request(project, "topic")
    run = run_workflow(project, "pull_request", event, home=tmp_path / "home", actions=actions)
    assert run.is_successful, run.log
    assert "GET /api/v1/memos" in run.log
    assert "valid=true changes=" in run.log


def test_workflow_of_a_new_project_checks_and_plans_a_pull_request(
    tmp_path: Path, actions: Path
) -> None:
    project = make_project(tmp_path / "shop", forge="github")
    change(project, "path: /notes", "path: /memos")
    event = open_pull_request(project, "topic")
    run = run_workflow(
        project, "pull_request", event, home=tmp_path / "home",
        variables={"BBOPS_PACKAGE": str(actions)},
    )  # fmt: skip
    assert run.is_successful, run.log
    assert "GET /api/v1/memos" in run.log
    assert "Publish" not in run.log


# ---- publishing
PUBLISH = f"""
name: publish
on: [push]
permissions: {{}}
jobs:
  publish:
    runs-on: ubuntu-latest
    permissions: {{ id-token: write }}
    steps:
      - id: publish
        uses: {ACTIONS}/.github/actions/publish@{COMMIT}
        with: {{ server: "${{{{ vars.BBOPS_SERVER }}}}", timeout: "60" }}
      - run: echo "live=$LIVE at $URL"
        env:
          LIVE: ${{{{ steps.publish.outputs.live-sha }}}}
          URL: ${{{{ steps.publish.outputs.url }}}}
"""


@pytest.fixture
def server(tmp_path: Path, issuer: CiIssuer) -> Iterator[CiServer]:
    (tmp_path / "at").mkdir()
    server = CiServer(tmp_path / "at", issuer)
    yield server
    server.stop()


def publish(server: CiServer, actions: Path, commit: str) -> WorkflowRun:
    """Run the workflow for a push of a commit, with an identity of the issuer."""
    server.issuer.job_claims = {"sha": commit}
    payload = {"ref": "refs/heads/main", "after": commit, "before": "0" * 40}
    return run_workflow(
        server.work, "push", payload, home=server.root / "home", actions=actions,
        variables={"BBOPS_SERVER": server.serving["control_url"]},
        env={
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{server.issuer.url}/token?api-version=2.0",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": JOB_KEY,
        },
    )  # fmt: skip


def test_action_publishes_without_a_stored_secret(server: CiServer, actions: Path) -> None:
    commit = server.push({".github/workflows/publish.yml": PUBLISH, **hello(2)})
    run = publish(server, actions, commit)
    assert run.is_successful, run.log
    assert f"live={commit} at http" in run.log
    assert "### Publish: live: " in run.log
    assert server.api.get("/hello").json()["version"] == 2
    assert "eyJ" not in run.log.replace("::add-mask::eyJ", "")


def test_action_fails_with_the_line_of_an_error(server: CiServer, actions: Path) -> None:
    broken = hello(3) | {"functions/hello.yaml": "steps:\n  - retrun: { value: 1 }\n"}
    commit = server.push({".github/workflows/publish.yml": PUBLISH, **broken})
    run = publish(server, actions, commit)
    assert not run.is_successful
    assert "::error file=functions/hello.yaml,line=2" in run.log
    assert "keeps serving" in run.log
