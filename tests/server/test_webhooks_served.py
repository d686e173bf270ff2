"""Webhooks of a real server, both ways: sent to real receivers, signed by libraries of others."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import npm
from tests.support.patience import wait_for
from tests.support.processes import children
from tests.support.receiving import Receiver, receiver, sending, shown
from tests.support.sending import SECRET
from tests.support.served import Served

__all__ = ["receiver", "sending"]
pytestmark = pytest.mark.long

SCRIPT = Path(npm.__file__).with_name("webhooks.mjs")


def node(what: str, given: str) -> Any:
    """Return what the libraries of npm say."""
    script = Path(shutil.copy(SCRIPT, npm.folder()))
    done = npm.run(script, what, SECRET, input=given)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def add(served: Served, customer: str, url: str) -> None:
    body = {"customer": customer, "url": url}
    assert served.api.post("/receivers", json=body).status_code == 201


def done(served: Served, customer: str, number: int) -> str:
    """Send a message to the receivers of a customer; return its id."""
    answer = served.api.post("/done", json={"customer": customer, "number": number})
    return str(answer.json())


def test_what_is_sent_is_verified_by_standardwebhooks_of_npm(
    sending: Served, receiver: Receiver
) -> None:
    add(sending, "ada", receiver.url("/a"))
    message = done(sending, "ada", 7)
    wait_for(lambda: receiver.got)
    ((_, headers, body),) = receiver.got
    assert headers["webhook-id"] == message
    said = node("verify", json.dumps({"headers": headers, "body": body}))
    assert (said["found"]["type"], said["found"]["data"]) == ("order.done", {"number": 7})
    assert "matching signature" in said["refused"]


def test_what_libraries_of_npm_sign_is_taken_and_ten_wrong_ones_of_each_are_not(
    sending: Served,
) -> None:
    body = '{"number": 7, "id": "evt_npm"}'
    signed = node("sign", body)
    assert set(signed) == {"standard", "stripe", "github"}
    for scheme, headers in signed.items():
        path = f"/hooks/{scheme}"
        for wrong in hostile(headers):
            answer = sending.api.post(path, content=body, headers=wrong)
            assert answer.status_code == 401, (scheme, wrong)
        assert sending.api.post(path, content=body + " ", headers=headers).status_code == 401
        assert sending.api.post(path, content=body, headers=headers).status_code == 202
        wait_for(lambda name=scheme: any(
            one["of"] == f"triggers/{name}" for one in shown(sending, "deliveries", "list")
        ))  # fmt: skip
    assert len(shown(sending, "deliveries", "list")) == 3


def hostile(headers: dict[str, str]) -> list[dict[str, str]]:
    """Return ten sets of headers that are wrong."""
    name = next(one for one in headers if "signature" in one)
    right = headers[name]
    last = "A" if right[-2] != "A" else "B"
    wrong = [
        "", "v1,", "v1", "sha256=", right[:-2] + last + right[-1], right.upper() + "x",
        right.replace("v1", "v0").replace("sha256", "sha1"), "v1,\u00ff" * 40, "t=1,v1=" + "0" * 64,
        "x" * 4_000,
    ]  # fmt: skip
    return [headers | {name: one.encode("latin-1")} for one in wrong]  # type: ignore[dict-item]


def test_a_receiver_that_is_gone_is_disabled_said_so_and_enabled(
    sending: Served, receiver: Receiver
) -> None:
    receiver.answers["/a"] = 410
    add(sending, "ada", receiver.url("/a"))
    first = done(sending, "ada", 1)
    wait_for(lambda: shown(sending, "receivers", "list", "--disabled"))
    (gone,) = shown(sending, "receivers", "list", "--disabled")
    assert (gone["webhook"], gone["receiver"]) == ("customers", "1")
    assert gone["url"] == receiver.url("/…")
    (event,) = shown(sending, "events", "list", "bbops.receiver-disabled")
    assert json.loads(event["payload"])["reason"] == "gone"
    done(sending, "ada", 2)  # is for nobody
    receiver.answers["/a"] = 204
    assert sending.bbops("receivers", "enable", "customers", "1").stdout == "enabled 1\n"
    assert sending.bbops("receivers", "enable", "customers", "1").returncode == 1
    third = done(sending, "ada", 3)
    wait_for(lambda: receiver.ids("/a") == [first, third])
    again = sending.bbops("deliveries", "resend", f"webhooks/customers@{first}/1")
    assert "started webhooks/customers@" in again.stdout
    wait_for(lambda: receiver.ids("/a") == [first, third, first])
    story = shown(sending, "deliveries", "show", f"webhooks/customers@{first}/1")
    assert [one["status"] for one in story["tries"]] == [410, 204]
    said = sending.bbops("deliveries", "show", f"webhooks/customers@{first}/1").stdout
    assert "order.done to 1  2 tries" in said


def test_it_is_tried_again_after_five_seconds_and_follows_no_redirect(
    sending: Served, receiver: Receiver
) -> None:
    receiver.answers["/a"] = 302
    add(sending, "ada", receiver.url("/a"))
    message = done(sending, "ada", 1)
    wait_for(lambda: receiver.ids("/a") == [message])
    receiver.answers["/a"] = 204
    wait_for(lambda: receiver.ids("/a") == [message] * 2)
    wait_for(lambda: shown(sending, "deliveries", "list")[0]["state"] == "delivered")
    assert receiver.ids("/elsewhere") == []


def test_a_slow_receiver_takes_no_room_from_others(sending: Served, receiver: Receiver) -> None:
    gate = receiver.gates["/slow"] = threading.Event()
    add(sending, "slow", receiver.url("/slow"))
    add(sending, "ada", receiver.url("/a"))
    for number in range(60):
        done(sending, "slow", number)
    wait_for(lambda: len(receiver.ids("/slow")) >= 5)
    message = done(sending, "ada", 1)
    wait_for(lambda: receiver.ids("/a") == [message])
    assert len(receiver.ids("/slow")) < 60, "the slow ones are still being sent"
    gate.set()


def test_each_message_arrives_whatever_is_killed(sending: Served, receiver: Receiver) -> None:
    add(sending, "ada", receiver.url("/a"))
    sent = set[str]()
    for number in range(120):
        sent.add(done(sending, "ada", number))
        if number % 30 == 15:
            for pid in children(sending.process.pid, "bbops_server.data_plane.work"):
                os.kill(pid, signal.SIGKILL)
    wait_for(lambda: set(receiver.ids("/a")) == sent)
    twice = len(receiver.ids("/a")) - len(sent)
    assert twice <= 4 * 5  # what was under way when its process ended
    wait_for(lambda: shown(sending, "jobs", "list")["jobs"] == [])


def test_the_secrets_of_receivers_are_shown_nowhere(sending: Served, receiver: Receiver) -> None:
    receiver.answers["/a"] = 500
    add(sending, "ada", receiver.url("/a"))
    add(sending, "eve", "http://[")  # what a customer enters hides nobody else's
    message = done(sending, "ada", 1)
    assert sending.api.post("/tell", json={"number": 1}).status_code == 200
    wait_for(lambda: len(shown(sending, "deliveries", "list", "--sent")) == 3)
    texts = [sending.bbops(*one.split()).stdout for one in (
        "deliveries list --json", f"deliveries show webhooks/customers@{message}/1 --json",
        f"jobs show webhooks/customers@{message}/1", "jobs list --json", "receivers list --json",
        "events list --json",
    )]  # fmt: skip
    assert all(texts)
    kept = "\n".join([*texts, (sending.home / "log").read_text()])
    assert SECRET not in kept
    assert SECRET.removeprefix("whsec_")[:20] not in kept
