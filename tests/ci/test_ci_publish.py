"""`bbops ci publish` and `bbops ci preview` in jobs with an identity token, at a real server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.support.ci_issuer import CiIssuer
from tests.support.ci_publishing import CiServer
from tests.support.patience import wait_for
from tests.support.served import git
from tests.support.small_project import hello

BROKEN = {"functions/hello.yaml": "steps: [{ return: { value: '${ vars.missing }' } }]\n"}
WAIT = "--timeout", "60"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CiServer]:
    issuer = CiIssuer()
    server = CiServer(tmp_path_factory.mktemp("ci"), issuer)
    yield server
    server.stop()
    issuer.close()


@pytest.fixture(autouse=True)
def clean(server: CiServer) -> None:
    """Start each job without outputs, on the newest commit of main."""
    for name in ("outputs", "summary"):
        (server.job / name).unlink(missing_ok=True)
    server.issuer.job_claims = {}
    git(server.work, "fetch", "-q", "origin")
    git(server.work, "reset", "-q", "--hard", "origin/main")


def secrets_in(text: str) -> list[str]:
    """Return the tokens in the output of a job, except in the commands that hide them."""
    lines = [line for line in text.splitlines() if not line.startswith("::add-mask::")]
    return re.findall(r"bbw_\w+|eyJ[\w.-]+", "\n".join(lines))


# ---- publish
def test_job_publishes_its_commit_without_a_stored_secret(server: CiServer) -> None:
    commit = server.next(2)
    done = server.run("publish", *WAIT, commit=commit)
    assert done.returncode == 0, done.stderr
    assert f"live: {commit[:12]} as bbops/shop/v" in done.stdout
    assert server.outputs()["live-sha"] == commit
    assert server.outputs()["state"] == "live"
    assert server.outputs()["url"].startswith("http://127.0.0.1:")
    assert commit in (server.job / "summary").read_text()
    assert done.stderr.count("::add-mask::") == 2
    assert secrets_in(done.stdout + done.stderr) == []
    assert "bbw_" not in (server.home / "log").read_text()


def test_commit_below_the_live_one_is_superseded(server: CiServer) -> None:
    old, new = server.next(3), server.next(4)
    assert server.run("publish", *WAIT, commit=new).returncode == 0
    done = server.run("publish", "--json", *WAIT, commit=old)
    report = json.loads(done.stdout)
    assert (done.returncode, report["live"]) == (0, new)
    assert report["state"] in {"superseded", "live"}
    assert report["state"] == "superseded"


def test_stalled_commit_is_shown_at_the_lines_of_its_files(server: CiServer) -> None:
    commit = server.push(BROKEN)
    done = server.run("publish", *WAIT, commit=commit)
    assert done.returncode == 1
    assert "[ProjectInvalid]" in done.stdout
    assert re.search(r"^::error file=functions/hello.yaml,line=\d", done.stdout, re.MULTILINE)
    assert server.outputs()["live-sha"] != commit
    below = git(server.work, "rev-parse", "HEAD~1")
    assert server.run("publish", *WAIT, commit=below).returncode == 0, "it is live"
    server.push(hello(5))


def test_suspended_publications_end_the_wait_at_once(server: CiServer) -> None:
    assert server.bbops("suspend", "shop", "--reason", "audit").returncode == 0
    try:
        commit = server.next(6)
        done = server.run("publish", "--timeout", "600", commit=commit)
        assert done.returncode == 1
        assert "[Suspended]" in done.stdout
        assert "bbops resume shop" in done.stdout
    finally:
        assert server.bbops("resume", "shop").returncode == 0
    assert server.run("publish", *WAIT, commit=commit).returncode == 0


def test_commit_elsewhere_is_not_seen(server: CiServer) -> None:
    done = server.run("publish", "--timeout", "1", commit="1" * 40)
    assert done.returncode == 1
    found = re.search(r"not live: the server follows branch 'main' at (\w{12}), and has not seen"
                      r" 111111111111$", done.stdout, re.MULTILINE)  # fmt: skip
    assert found is not None, done.stdout
    assert server.outputs()["state"] == "unseen"


def test_commit_of_another_branch_ends_the_wait_at_once(server: CiServer) -> None:
    commit = server.next(7, "side")
    done = server.run("publish", "--timeout", "600", commit=commit, GITHUB_REF_NAME="side")
    assert done.returncode == 1
    assert "this job is about branch 'side'" in done.stdout


@pytest.mark.parametrize("commit", ["main", "1234567"])
def test_abbreviated_commits_are_refused(server: CiServer, commit: str) -> None:
    done = server.run("publish", "--commit", commit, commit="1" * 40)
    assert done.returncode == 2
    assert f"'{commit}' is not the whole id of a commit" in done.stderr


def test_missing_permission_is_named_with_its_fix(server: CiServer) -> None:
    done = server.run("publish", commit="1" * 40, ACTIONS_ID_TOKEN_REQUEST_URL="")
    assert done.returncode == 2
    assert "error: this job has neither an identity token nor BBOPS_TOKEN" in done.stderr
    assert "id-token: write" in done.stderr


def test_untrusted_run_is_named_by_its_claim(server: CiServer) -> None:
    server.issuer.job_claims = {"ref": "refs/heads/topic"}
    done = server.run("publish", commit="1" * 40)
    assert done.returncode == 2
    assert "the claim 'ref' of the identity token is 'refs/heads/topic'" in done.stderr
    assert "'ci' of the project in server.yaml" in done.stderr
    assert secrets_in(done.stdout + done.stderr) == []


def test_key_of_the_job_is_not_sent_without_https(server: CiServer) -> None:
    url = "http://ci.example.com/token"
    done = server.run("publish", commit="1" * 40, ACTIONS_ID_TOKEN_REQUEST_URL=url)
    assert done.returncode == 2
    assert "ACTIONS_ID_TOKEN_REQUEST_URL is not an https address" in done.stderr


def test_rejected_key_of_the_job_names_the_permission(server: CiServer) -> None:
    done = server.run("publish", commit="1" * 40, ACTIONS_ID_TOKEN_REQUEST_TOKEN="other")
    assert done.returncode == 2
    assert "gives this job no identity token: 401" in done.stderr
    assert "id-token: write" in done.stderr


def test_job_of_gitlab_uses_the_token_of_its_variable(server: CiServer) -> None:
    commit = server.next(8)
    token = server.issuer.sign(server.issuer.github(server.serving["control_url"]))
    gitlab = {"GITHUB_ACTIONS": "", "ACTIONS_ID_TOKEN_REQUEST_URL": "", "GITLAB_CI": "true",
              "CI_COMMIT_SHA": commit, "CI_COMMIT_BRANCH": "main"}  # fmt: skip
    done = server.run("publish", *WAIT, commit="", BBOPS_ID_TOKEN=token, **gitlab)
    assert done.returncode == 0, done.stderr
    assert "add-mask" not in done.stderr
    again = server.run("publish", *WAIT, commit="", BBOPS_ID_TOKEN=token, **gitlab)
    assert again.returncode == 2
    assert "which was used before" in again.stderr
    assert secrets_in(again.stdout + again.stderr) == []


def test_stored_token_comes_first(server: CiServer) -> None:
    requests = len(server.issuer.requests)
    done = server.run("publish", commit="1" * 40, BBOPS_TOKEN="bbp_unknown")
    assert done.returncode == 2
    assert len(server.issuer.requests) == requests


# ---- preview
def test_preview_waits_until_the_draft_serves_the_commit(server: CiServer) -> None:
    commit = server.next(20, "topic")
    job = server.propose("topic", commit)
    done = server.run("preview", *WAIT, commit="2" * 40, **job)
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = server.outputs()
    assert (outputs["draft"], outputs["state"]) == ("topic", "live")
    assert outputs["url"].endswith("/~drafts/topic/")
    result = json.loads(next((server.job / "temp").rglob("preview.json")).read_text())
    assert (result["commit"], result["url"]) == (commit, outputs["url"])
    newer = server.next(21, "topic")
    job = server.propose("topic", newer)
    assert server.run("preview", *WAIT, commit="2" * 40, **job).returncode == 0
    assert secrets_in(done.stdout + done.stderr) == []
    assert "bbd_" not in done.stdout + done.stderr


def test_draft_with_errors_fails_at_their_lines(server: CiServer) -> None:
    commit = server.push(BROKEN, "broken")
    done = server.run("preview", *WAIT, commit="2" * 40, **server.propose("broken", commit))
    assert done.returncode == 1
    assert re.search(r"^::error file=functions/hello.yaml,line=\d", done.stdout, re.MULTILINE)
    assert server.outputs()["state"] == "failed"


def test_proposal_of_a_fork_has_no_draft(server: CiServer) -> None:
    job = server.propose("topic", "3" * 40, "mallory/octo-repo")
    done = server.run("preview", commit="2" * 40, **job)
    assert done.returncode == 0
    assert "the proposal comes from a fork" in done.stdout
    as_json = json.loads(server.run("preview", "--json", commit="2" * 40, **job).stdout)
    assert as_json["state"] == "skipped"


def test_branch_without_a_draft_is_named_with_possible_reasons(server: CiServer) -> None:
    job = server.propose("gone", "3" * 40)
    done = server.run("preview", "--timeout", "1", commit="2" * 40, **job)
    assert done.returncode == 1
    assert "the server has no draft of branch 'gone'" in done.stdout


def test_runs_of_workflows_are_in_the_audit_log(server: CiServer) -> None:
    commit = server.next(9)
    assert server.run("publish", *WAIT, commit=commit).returncode == 0
    key = json.loads((server.state / "control.json").read_text())["token"]
    page = server.control.get("/audit", headers={"authorization": f"Bearer {key}"})
    assert page.status_code == 200
    assert "issue a token for a workflow" in page.text
    assert "run 1658821493 by octocat at 4c1e2a91c04d" in page.text
    assert "octo-org/octo-repo (CI)" in page.text


def test_settings_that_change_end_a_token(server: CiServer) -> None:
    token = server.issuer.sign(server.issuer.github(server.serving["control_url"]))
    issued = server.control.post("/api/ci/token", json={"token": token}).json()
    headers = {"authorization": f"Bearer {issued['token']}"}
    path = "/api/projects/shop/status"
    assert server.control.get(path, headers=headers).status_code == 200
    text = server.file.read_text()
    server.change(text.replace("{ issuer:", "{ environment: production, issuer:"))
    wait_for(lambda: server.control.get(path, headers=headers).status_code == 401)
    server.change(text)
    wait_for(lambda: server.control.get(path, headers=headers).status_code == 200)
