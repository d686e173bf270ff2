"""Webhooks and events of drafts: what they receive is kept, what they send stays inside."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from tests.support.drafting import branch
from tests.support.patience import wait_for
from tests.support.receiving import Receiver, receiver, sending, shown
from tests.support.served import Served, git
from tests.support.small_project import endpoint

__all__ = ["receiver", "sending"]

TOPIC: Final = "topic"
DRAFT_SECRET: Final = f"whsec_{base64.b64encode(b'only-for-drafts.' * 2).decode()}"
IN_DRAFT: Final = ("--draft", TOPIC)
EMIT: Final = """
input: { number: integer }
steps:
  - emit: { event: order.paid, payload: { number: "${ input.number }" } }
"""
HOOK: Final = """
webhook: { path: /hooks/own, signature: { header: x-signature, secret: "${ env.PARTNER_SECRET }" } }
function: paid
"""


@contextmanager
def draft(served: Served) -> Iterator[httpx.Client]:
    """Push a branch that emits and takes webhooks, and give a client of its draft."""
    with branch(served, TOPIC):
        for path, text in {
            "functions/emit.yaml": EMIT, "endpoints/emit.yaml": endpoint("POST", "/emit", "emit"),
            "triggers/paid.yaml": "event: order.paid\nfunction: paid\n",
            "triggers/own.yaml": HOOK,
        }.items():  # fmt: skip
            (served.repository / path).write_text(text)
        served.commit()
    state = str(served.repository / ".bbops/state")
    values = {"PARTNER_SECRET": DRAFT_SECRET, "PARTNER_URL": "https://partner.example/hook"}
    for name, value in values.items():
        done = served.bbops("env", "set", name, value, "--drafts", "--state", state)
        assert done.returncode == 0, done.stderr
    wait_for(lambda: TOPIC in served.bbops("drafts", "list").stdout)
    made = shown(served, "drafts", "token", TOPIC)
    with httpx.Client(
        base_url=made["url"], headers={"x-draft-token": made["token"]}, timeout=120
    ) as client:
        newest = git(served.repository, "rev-parse", TOPIC)[:12]
        wait_for(lambda: client.post("emit", json={}).headers.get("x-release") == newest)
        yield client


def names(found: list[dict[str, Any]]) -> list[str]:
    return [one["name"] for one in found]


@pytest.mark.long
def test_what_a_draft_sends_is_logged_and_nothing_leaves(
    sending: Served, receiver: Receiver
) -> None:
    with draft(sending) as client:
        url = receiver.url("/hook")
        assert client.post("receivers", json={"customer": "c", "url": url}).status_code == 201
        assert client.post("done", json={"customer": "c", "number": 7}).status_code == 200
        listed = shown(sending, "receivers", "list", *IN_DRAFT)
        assert [one["receiver"] for one in listed if one["webhook"] == "customers"] == ["1"]
        assert shown(sending, "deliveries", "list", "--sent", *IN_DRAFT) == []
        log = sending.home / "log"
        wait_for(lambda: "drafts send no webhooks" in log.read_text())
        enable = sending.bbops("receivers", "enable", "customers", "1", *IN_DRAFT)
        assert (enable.returncode, "is not disabled" in enable.stdout) == (1, True)
        work = sending.bbops("drafts", "work", TOPIC, "--for", "1m")
        assert work.returncode == 0, work.stderr
        assert shown(sending, "jobs", "list", *IN_DRAFT)["jobs"] == []
    assert receiver.got == []
    assert shown(sending, "receivers", "list") != listed


@pytest.mark.long
def test_events_of_a_draft_are_listed_emitted_and_run_again(sending: Served) -> None:
    with draft(sending) as client:
        assert client.post("emit", json={"number": 1}).is_success
        wait_for(lambda: names(shown(sending, "events", "list", *IN_DRAFT)) == ["order.paid"])
        emitted = sending.bbops("events", "emit", "order.paid", '{"number": 2}', *IN_DRAFT)
        assert "emitted order.paid; triggers/paid waits for it" in emitted.stdout, emitted.stderr
        wait_for(lambda: len(shown(sending, "events", "list", "order.paid", *IN_DRAFT)) == 2)
        again = ("events", "replay", "--to", "paid", "--since", "1h", "--yes")
        assert "2 events of paid run again" in sending.bbops(*again, *IN_DRAFT).stdout
        wait_for(lambda: len(shown(sending, "jobs", "list", *IN_DRAFT)["jobs"]) == 4)
        assert shown(sending, "events", "list") == []


@pytest.mark.long
def test_a_delivery_to_a_draft_is_shown_masked_and_runs_again(sending: Served) -> None:
    with draft(sending) as client:
        body = json.dumps({"number": 7, "token": "hidden-one"}).encode()
        signed = hmac.digest(DRAFT_SECRET.encode(), body, "sha256").hex()
        headers = {"x-signature": signed, "content-type": "application/json"}
        assert client.post("hooks/own", content=body, headers=headers).status_code == 202
        (one,) = shown(sending, "deliveries", "list", "--received", *IN_DRAFT)
        story = sending.bbops("deliveries", "show", one["id"], *IN_DRAFT).stdout
        assert "x-signature: ***" in story
        assert "hidden-one" not in story
        replay = sending.bbops("deliveries", "replay", one["id"], *IN_DRAFT)
        assert "started triggers/own@" in replay.stdout, replay.stderr
        wait_for(lambda: len(shown(sending, "jobs", "list", *IN_DRAFT)["jobs"]) == 2)
        assert shown(sending, "deliveries", "list") == []
