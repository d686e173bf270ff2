"""Waits of CI jobs at a control plane whose responses a test chooses."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from bbops.interfaces.answers import CommitStatus, Status
from bbops.interfaces.ci.preview import DraftPreview, describe_wait, render_markdown
from bbops.interfaces.ci.publish import judge
from bbops.interfaces.ci.sections.preview import PreviewReport
from bbops.interfaces.cli._root_group import RootGroup
from tests.support.actions_runner import read_commands
from tests.support.ci_issuer import JOB_KEY, CiIssuer, issuer
from tests.support.statuses import READY, STALLED, Answers, Start, control

__all__ = ["control", "issuer"]
COMMIT, REQUESTED_AT = "a" * 40, "2026-01-02T03:04:06Z"
HANDLED = {"handled_at": REQUESTED_AT}
EXCHANGE, RECONCILE = "POST /api/ci/token", "POST /api/projects/shop/reconcile"
STATUS = f"GET /api/projects/shop/status?commit={COMMIT}"
ACCEPTED = (202, {"status": "accepted", "requested_at": REQUESTED_AT})
ISSUED = {"token": "bbw_1", "expires_at": REQUESTED_AT, "project": "shop"}
AWAY = (503, {"error": {"code": "unavailable", "message": "starting"}})
ENDED = (401, {"error": {"code": "unauthorized", "message": "ended"}})


class Script(dict[str, tuple[int, Any]]):
    """Responses in their order; the last one of each request stays."""

    def __init__(self, **responses: Any) -> None:
        super().__init__()
        self.scripts = {EXCHANGE: [(200, ISSUED)], RECONCILE: [ACCEPTED],
                        STATUS: [(200, READY | HANDLED)]}  # fmt: skip
        self.counts = dict.fromkeys(self.scripts, 0)

    def set(self, request: str, *responses: tuple[int, Any]) -> Script:
        self.scripts[request] = list(responses)
        return self

    def get(self, key: str, default: Any = None) -> Any:
        script = self.scripts.get(key)
        if script is None:
            return default
        self.counts[key] += 1
        return script.pop(0) if len(script) > 1 else script[0]


def publish(url: str, issuer: CiIssuer, *arguments: str, token: str = "") -> Result:
    env = {
        "BBOPS_TOKEN": token, "BBOPS_SERVER": "", "GITHUB_ACTIONS": "true", "GITHUB_SHA": COMMIT,
        "GITHUB_REF_NAME": "main", "GITHUB_REF_TYPE": "branch", "GITHUB_EVENT_NAME": "push",
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{issuer.url}/token?x=1",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": JOB_KEY,
    }  # fmt: skip
    command = ["ci", "publish", *(("--server", url) if url else ()), *arguments]
    return CliRunner().invoke(RootGroup("bbops"), command, env=env)


@pytest.mark.parametrize("request_", [EXCHANGE, RECONCILE, STATUS])
def test_server_that_is_away_for_a_moment_is_asked_again(
    control: Start, issuer: CiIssuer, request_: str
) -> None:
    script = Script()
    script.set(request_, AWAY, script.scripts[request_][0])
    done = publish(control(script), issuer)
    assert (done.exit_code, script.counts[request_]) == (0, 2), done.output


def test_server_that_stays_away_ends_the_wait(control: Start, issuer: CiIssuer) -> None:
    done = publish(control(Script().set(STATUS, AWAY)), issuer, "--timeout", "1")
    assert done.exit_code == 1
    assert "refused: starting" in done.stderr


def test_token_that_has_ended_is_renewed(control: Start, issuer: CiIssuer) -> None:
    script = Script().set(STATUS, ENDED, (200, READY | HANDLED))
    done = publish(control(script), issuer)
    assert (done.exit_code, script.counts[EXCHANGE]) == (0, 2), done.output
    assert issuer.requests.count(issuer.requests[0]) == 2


def test_token_that_is_rejected_again_ends_the_wait(control: Start, issuer: CiIssuer) -> None:
    script = Script().set(STATUS, ENDED)
    done = publish(control(script), issuer)
    assert (done.exit_code, script.counts[EXCHANGE]) == (2, 2)


def test_rejected_token_of_the_variable_names_the_variable(
    control: Start, issuer: CiIssuer
) -> None:
    done = publish(
        control(Script().set(RECONCILE, ENDED)), issuer, "--project", "shop", token="bbp_unknown"
    )
    assert done.exit_code == 2
    assert "put a new token of this server into the variable BBOPS_TOKEN" in done.stderr
    assert "bbops login" not in done.stderr


def test_identity_token_is_not_sent_without_https(issuer: CiIssuer) -> None:
    done = publish("http://bbops.example.com", issuer)
    assert done.exit_code == 2
    assert "a token is not sent to 'http://bbops.example.com' without https" in done.stderr


def test_job_without_a_server_is_an_error_at_once(
    issuer: CiIssuer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    done = publish("", issuer)
    assert (done.exit_code, issuer.requests) == (2, [])
    assert "this job names no server" in done.stderr
    assert "::error title=bbops::this job names no server%0Aset the variable" in done.stderr
    assert "BBOPS_SERVER" in done.stderr


@pytest.mark.parametrize(("claim", "arguments", "hint"), [
    ("aud", (), "use the address in 'urls.control' of server.yaml"),
    ("ref", (), "compare it with 'ci' of the project in server.yaml"),
    ("ref", ("--project", "shop"), "compare it with 'ci' of project 'shop' in server.yaml"),
])  # fmt: skip
def test_hint_of_a_rejected_claim_names_the_setting(
    control: Start, issuer: CiIssuer, claim: str, arguments: tuple[str, ...], hint: str
) -> None:
    message = f"the claim '{claim}' of the identity token is 'x', which is not accepted"
    refused = (403, {"error": {"code": "forbidden", "message": message}})
    done = publish(control(Script().set(EXCHANGE, refused)), issuer, *arguments)
    assert (done.exit_code, hint in done.stderr) == (2, True), done.stderr


def test_refused_request_ends_the_wait(control: Start, issuer: CiIssuer) -> None:
    forbidden = (403, {"error": {"code": "forbidden", "message": "not this"}})
    done = publish(control(Script().set(RECONCILE, forbidden)), issuer)
    assert (done.exit_code, "refused: not this" in done.stderr) == (2, True)


def test_output_is_json_alone_on_stdout(control: Start, issuer: CiIssuer) -> None:
    done = publish(control(Script()), issuer, "--json")
    assert json.loads(done.stdout)["state"] == "live"
    assert done.stderr.count("::add-mask::") == 2


def test_commands_in_the_texts_of_a_server_are_not_run(control: Start, issuer: CiIssuer) -> None:
    evil = STALLED["conditions"][1] | {"message": "x\n::set-env name=PATH::/evil"}
    status = STALLED | HANDLED | {
        "name": "shop", "attempted_revision": f"main@sha1:{COMMIT}",
        "applied_revision": "main@sha1:" + "c" * 40, "conditions": [evil],
    }  # fmt: skip
    answers: Answers = Script().set(STATUS, (200, status))
    done = publish(control(answers), issuer)
    assert done.exit_code == 1
    stop, _, rest = done.stdout.partition("\n")
    token = stop.removeprefix("::stop-commands::")
    assert stop.startswith("::stop-commands::")
    assert "::set-env" in rest.partition(f"::{token}::")[0]


def test_commands_in_the_errors_of_a_server_are_not_run(control: Start, issuer: CiIssuer) -> None:
    evil = {"error": {"code": "forbidden", "message": "x\n::set-output name=url::y ##[error]z"}}
    done = publish(control(Script().set(RECONCILE, (403, evil))), issuer)
    assert (done.exit_code, "::set-output" in done.stderr) == (2, True)
    assert {command.name for command in read_commands(done.stderr)} == {"add-mask"}


@pytest.mark.parametrize("token", ["", "bbw_1\n::set-output name=url::y", "é", "x" * 201])
def test_other_texts_in_the_place_of_a_token_are_refused(
    control: Start, issuer: CiIssuer, token: str
) -> None:
    script = Script().set(EXCHANGE, (200, ISSUED | {"token": token}))
    done = publish(control(script), issuer, "--timeout", "1")
    assert (done.exit_code, "did not answer with a token" in done.stderr) == (2, True)
    assert "set-output" not in done.output


def test_identity_token_is_not_sent_without_https(issuer: CiIssuer) -> None:
    done = publish("http://control.invalid", issuer, "--timeout", "1")
    assert done.exit_code == 2
    assert "a token is not sent to 'http://control.invalid' without https" in done.stderr


def test_branch_of_a_preview_is_plain_text_in_the_summary() -> None:
    message = describe_wait(None, "x<img/src=y>@octocat", COMMIT)
    failed = DraftPreview(PreviewReport("shop", COMMIT, "failed", message=message))
    assert "the server has no draft of branch" in render_markdown(failed)
    assert [sign for sign in ("<img", "@octocat") if sign in render_markdown(failed)] == []
    live = DraftPreview(PreviewReport("shop", COMMIT, "live", "https://p.example.org/x"))
    assert "<https://p.example.org/x>" in render_markdown(live)


# ---- the result of a status
def status(base: dict[str, Any], place: CommitStatus | None = None, **changes: Any) -> Status:
    read = msgspec.convert(base | HANDLED | changes, Status)
    return msgspec.structs.replace(read, commit=place)


def place(*, live: bool = False, in_live: bool = False, in_attempted: bool = False) -> CommitStatus:
    return CommitStatus("d" * 40, live, in_live, in_attempted)


BUSY = [*STALLED["conditions"],
        {"type": "Reconciling", "status": True, "reason": "Building", "message": ""}]  # fmt: skip


@pytest.mark.parametrize(("found", "state"), [
    (status(READY, place(live=True, in_live=True)), "live"),
    (status(READY, place(in_live=True)), "superseded"),
    (status(STALLED, place(in_live=True)), "superseded"),
    (status(STALLED, place(in_attempted=True)), "stalled"),
    (status(STALLED, place()), None),
    (status(STALLED, place(in_attempted=True), conditions=BUSY), None),
    (status(STALLED, place(in_attempted=True), handled_at="2026-01-02T03:04:05Z"), None),
    (status(STALLED, place(in_attempted=True), handled_at=None), None),
    (status(READY, place()), None),
    (status(READY), None),
    (status(READY, attempted_revision=None, applied_revision=None, release=None), None),
])  # fmt: skip
def test_status_gives_a_result_only_about_the_commit(found: Status, state: str | None) -> None:
    report = judge(found, "d" * 40, datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC), "main")
    assert (report and report.state) == state


def test_newer_commit_that_stalled_is_named_as_the_reason() -> None:
    found = status(STALLED, place(in_attempted=True))
    report = judge(found, "d" * 40, datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC))
    assert report is not None
    assert report.message == "a newer commit has stalled: 1 error [x]"
