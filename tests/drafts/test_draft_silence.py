"""A draft with everything that could reach out by itself sends nothing, however long it is used.

`BBOPS_DRAFT_SECONDS=600` watches for as long as the figures in docs/decisions/0072 say.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Final

import httpx
import pytest

from bbops.source.git import store
from tests.support.drafting import answered, branch
from tests.support.patience import wait_for
from tests.support.receiving import Receiver, receiver
from tests.support.sending import SECRET
from tests.support.shop import FILES, Work, write
from tests.support.small_project import endpoint

__all__ = ["receiver"]

SECONDS = float(os.environ.get("BBOPS_DRAFT_SECONDS", "6"))
PAUSE_SECONDS = 0.25
TOPIC: Final = "everything"

CALL: Final = """
steps:
  - http: { method: POST, url: "${ env.PARTNER_URL }", body: { by: WHO } }
  - send: { webhook: partners, event: order.done, payload: { number: 1 } }
  - publish: { realtime: board, event: done, payload: { by: WHO } }
  - enqueue: { function: later, input: { by: WHO } }
  - emit: { event: order.called, payload: { number: 1 } }
"""
LATER: Final = """
input: { by: string }
steps:
  - http: { method: POST, url: "${ env.PARTNER_URL }", body: { by: "${ input.by }" } }
"""
USE: Final = """
steps:
  - insert: { table: marks, data: { number: 1, word: asked } }
  - emit: { event: order.paid, payload: { number: 1 } }
  - send: { webhook: partners, event: order.done, payload: { number: 1 } }
  - publish: { realtime: board, event: done, payload: { by: request } }
  - enqueue: { function: later, input: { by: request }, delay: 1s }
    as: job
  - return: { status: 201 }
"""
PARTNERS: Final = """
receivers:
  - { url: "${ env.PARTNER_URL }", secret: "${ env.PARTNER_SECRET }" }
events: { order.done: { number: integer } }
"""
PROJECT: Final = """
bbops: 1
name: shop
env: { PARTNER_URL: { required: NEEDED }, PARTNER_SECRET: { secret: true, required: NEEDED } }
"""
EVERYTHING: Final = {
    "project.yaml": PROJECT.replace("NEEDED", "true"), "webhooks/partners.yaml": PARTNERS,
    "realtime/board.yaml": "topic: board\nauthentication: None\nevents: { done: { by: string } }\n",
    "functions/use.yaml": USE, "functions/later.yaml": LATER,
    "endpoints/use.yaml": endpoint("POST", "/use", "use"),
    **{f"functions/{who}.yaml": CALL.replace("WHO", who) for who in ("task", "event", "row")},
    "tasks/call.yaml": "every: 1s\nfunction: task\nmissed: all\noverlap: allow\n",
    "triggers/event.yaml": "event: order.paid\nfunction: event\n",
    "triggers/row.yaml": "database: { table: marks, operation: insert }\nfunction: row\n",
}  # fmt: skip


@pytest.mark.long
def test_a_draft_with_all_of_it_sends_nothing_until_somebody_lets_it(
    tmp_path: Path, receiver: Receiver
) -> None:
    project = {"project.yaml": PROJECT.replace("NEEDED", "false").encode()}
    store.init(tmp_path / "shop", FILES | project, message="Start")
    (tmp_path / "settings.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
    settings = ["--settings", str(tmp_path / "settings.yaml")]
    with Work(tmp_path / "shop", tmp_path / "home", *settings) as served:
        served.live()
        values = {"PARTNER_URL": receiver.url("/partner"), "PARTNER_SECRET": SECRET}
        state = ["--state", str(served.repository / ".bbops/state")]
        for name, value in values.items():
            assert served.bbops("env", "set", name, value, "--drafts", *state).returncode == 0
        with branch(served, TOPIC):
            write(served, EVERYTHING)
        wait_for(lambda: TOPIC in served.bbops("drafts", "list").stdout)
        allowed = served.bbops("drafts", "allow", TOPIC, f"127.0.0.1:{receiver.server_port}")
        assert allowed.returncode == 0, allowed.stderr
        made = json.loads(served.bbops("drafts", "token", TOPIC, "--json").stdout)
        headers = {"x-draft-token": made["token"]}
        with httpx.Client(base_url=made["url"], headers=headers, timeout=120) as client:
            used = use(client)
            assert receiver.got == []
            held = json.loads(served.bbops("jobs", "list", "--draft", TOPIC, "--json").stdout)
            assert {job["state"] for job in held["jobs"]} == {"held"}
            print(f"\nused {used} times in {SECONDS:g} s, {len(held['jobs'])} jobs shown as held")

            assert served.bbops("drafts", "work", TOPIC, "--for", "1h").returncode == 0
            wait_for(lambda: {by(body) for _, _, body in receiver.got} >= {"task", "event", "row"})
            assert all("webhook-id" not in headers for _, headers, _ in receiver.got)


def use(client: httpx.Client) -> int:
    """Use the draft for a while; return how often."""
    first = answered(lambda: client.post("use"))
    assert first.status_code == 201, first.text
    used, until = 1, time.monotonic() + SECONDS
    while time.monotonic() < until:
        time.sleep(PAUSE_SECONDS)
        assert client.post("use").status_code == 201
        used += 1
    return used


def by(body: str) -> str:
    return str(json.loads(body).get("by"))
