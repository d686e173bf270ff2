"""Webhooks: receivers are told in order, at least once, signed, and delay nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bbops.base.errors import ServerError
from bbops_server.process.webhooks.message import HookMessage, make_request, read_secret
from bbops_server.process.webhooks.queue import MAX_WAITING, MessageQueue
from tests.support.patience import wait_for
from tests.support.pushing import BAD
from tests.support.served import Served, environment, git
from tests.support.several import Several
from tests.support.small_project import hello, write_project
from tests.support.webhooks import NAME, SECRET, Receiver, folder, receiver, serve, settings

__all__ = ["folder", "receiver"]


@pytest.mark.long
def test_a_receiver_is_told_of_each_publication_in_order(folder: Path, receiver: Receiver) -> None:
    with serve(folder, receiver.url) as server:
        first = server.until("live", "one")
        commit = server.commit_version("one", 2)
        server.until("live", "one")
        write_project(folder / "one", BAD)
        git(folder / "one", "commit", "-qam", "Break it")
        server.until("stalled", "one")
        wait_for(lambda: len(receiver.taken) == 3)
    assert [one["type"] for one in receiver.taken] == ["published", "published", "stalled"]
    start, second, broken = (one["data"] for one in receiver.taken)
    assert start["revision"] == first["revision"]
    assert (second["project"], second["version"]) == ("one", "bbops/one/v2")
    assert (second["revision"], second["author"]) == (f"main@sha1:{commit}", "ada")
    assert broken["outcome"] == "ProjectInvalid"
    assert "nobody" in broken["message"]


@pytest.mark.long
def test_only_the_events_that_are_wanted_are_sent(folder: Path, receiver: Receiver) -> None:
    with serve(folder, receiver.url, ", events: [stalled]") as server:
        server.until("live", "one")
        write_project(folder / "one", BAD)
        git(folder / "one", "commit", "-qam", "Break it")
        server.until("stalled", "one")
        wait_for(lambda: receiver.taken)
    assert [one["type"] for one in receiver.taken] == ["stalled"]


@pytest.mark.long
def test_a_dead_receiver_delays_nothing_and_gets_all_after_a_restart(
    folder: Path, receiver: Receiver
) -> None:
    receiver.answers = 500
    with serve(folder, receiver.url) as server:
        server.until("live", "one")
        server.commit_version("one", 2)
        server.until("live", "one", seconds=3)
        wait_for(lambda: receiver.tried)
        log = server.home / "log"
        wait_for(lambda: "it answered 500; it is tried again" in log.read_text())
    kept = "".join(one.read_text() for one in (folder / ".bbops/state/webhooks").iterdir())
    assert SECRET not in kept + log.read_text()
    receiver.answers = 204
    with serve(folder, receiver.url) as server:
        wait_for(lambda: len(receiver.taken) == 2)
    assert [one["data"]["version"] for one in receiver.taken] == ["bbops/one/v1", "bbops/one/v2"]
    assert receiver.tried[0] == receiver.tried[1]


@pytest.mark.long
def test_an_address_that_may_not_be_asked_is_not_asked(folder: Path, receiver: Receiver) -> None:
    text = settings(receiver.url).replace("egress: { allow: [127.0.0.1] }\n", "")
    with Several(folder, text, env={NAME: SECRET}) as server:
        server.until("live", "one")
        log = server.home / "log"
        wait_for(lambda: "address not allowed" in log.read_text())
    assert receiver.tried == []


def test_a_signature_is_that_of_the_specification() -> None:
    key = read_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = '{"test": 2432232314}'
    message = HookMessage("msg_p5jXN8AQM9LWM0D4loKWxJek", body, datetime.now(UTC))
    at = datetime.fromtimestamp(1614265330, UTC)
    headers = make_request(message, "https://a.example", at, key).headers
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("secret", ["", "short", "whsec_", "not base64 at all, but it is long"])
def test_a_secret_is_long_enough(secret: str) -> None:
    with pytest.raises(ServerError, match="24 bytes"):
        read_secret(secret)


def test_what_waits_is_bounded_and_survives_damage(tmp_path: Path) -> None:
    queue = MessageQueue(tmp_path, "https://example.com")
    message = HookMessage("first", "{}", datetime.now(UTC))
    queue.waiting = [message] * MAX_WAITING  # a thousand writes take a while
    queue.put(HookMessage("last", "{}", datetime.now(UTC)))
    again = MessageQueue(tmp_path, "https://example.com")
    (file,) = tmp_path.iterdir()
    assert len(json.loads(file.read_text())) == MAX_WAITING
    assert again.first == message
    file.write_text("[{")
    assert MessageQueue(tmp_path, "https://example.com").first is None


def lone(url: str, events: str) -> str:
    return (
        "egress: { allow: [127.0.0.1] }\n"
        f"webhooks: [{{ url: '{url}', secretEnv: {NAME}, events: [{events}] }}]\n"
    )


@pytest.mark.long
def test_proposals_and_drafts_of_a_server_of_one_repository_are_told(
    folder: Path, receiver: Receiver
) -> None:
    events = "proposal.opened, proposal.commented, proposal.closed, draft.ready, draft.gone"
    (folder / "own.yaml").write_text(lone(receiver.url, events))
    settings, state = str(folder / "own.yaml"), str(folder / "state")
    with Served(
        folder / "one",
        folder / "home",
        "--settings",
        settings,
        "--state",
        state,
        env={NAME: SECRET},
    ) as server:
        server.live()
        git(folder / "one", "switch", "-qc", "topic")
        write_project(folder / "one", hello(2))
        git(folder / "one", "commit", "-qam", "Greet twice")
        sign_in(server, folder / "state")
        api = server.control
        at = "/api/projects/small/proposals"
        assert api.post(at, json={"branch": "topic"}).status_code == 201
        said = {"verdict": "commented", "text": "why twice?"}
        assert api.post(f"{at}/1/review", json=said).status_code == 201
        wait_for(lambda: "draft.ready" in types(receiver))
        assert api.post(f"{at}/1/close", json={}).status_code == 200
        wait_for(lambda: "draft.gone" in types(receiver))
        (folder / "own.yaml").write_text("freeze: [{ days: [fri], reason: the fair }]\n")
        wait_for(lambda: server.event("applied"))
    opened, said, closed = (find(receiver, f"proposal.{one}") for one in WORDS)
    assert (opened["proposal"], opened["title"], opened["by"]) == (1, "Greet twice", "local")
    assert opened["page"].endswith("/projects/small/proposals/1")
    assert (opened["ready"], opened["reviewers"]) == (True, [])
    assert (said["text"], closed["state"]) == ("why twice?", "closed")
    ready = find(receiver, "draft.ready")
    assert (ready["branch"], ready["commit"]) == ("proposal-1", opened["head"])
    assert "/~drafts/proposal-1/" in ready["draft"]


def sign_in(server: Served, state: Path) -> None:
    key = json.loads((state / "control.json").read_text())["token"]
    server.control.headers["authorization"] = f"Bearer {key}"


WORDS = ("opened", "commented", "closed")


def types(receiver: Receiver) -> list[str]:
    return [one["type"] for one in receiver.taken]


def find(receiver: Receiver, kind: str) -> dict[str, Any]:
    (found,) = [one["data"] for one in receiver.taken if one["type"] == kind]
    return dict(found)


@pytest.mark.long
def test_a_draft_that_does_not_work_is_told_once(folder: Path, receiver: Receiver) -> None:
    with serve(folder, receiver.url, ", events: [draft.failed]") as server:
        server.until("live", "one")
        git(folder / "one", "switch", "-qc", "topic")
        write_project(folder / "one", BAD)
        git(folder / "one", "commit", "-qam", "Break it")
        sign_in(server, server.state)
        at = "/api/projects/one/proposals"
        assert server.control.post(at, json={"branch": "topic"}).status_code == 201
        wait_for(lambda: receiver.taken)
    (failed,) = receiver.taken
    assert failed["type"] == "draft.failed"
    assert "nobody" in failed["data"]["message"]


@pytest.mark.long
def test_settings_of_one_repository_name_no_other(folder: Path) -> None:
    (folder / "own.yaml").write_text("projects: { one: { repository: ./one } }\n")
    command = [sys.executable, "-P", "-m", "bbops", "serve", "one", "--settings", "own.yaml"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False,
        env=environment(folder / "home"),
    )  # fmt: skip
    assert done.returncode == 1
    assert "names the repository of this server already" in done.stdout + done.stderr
