"""What webhooks were sent: kept, told without secrets, tested and sent again by owners."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bbops.interfaces.cli.hooks import command
from bbops_server.accounts.rules import Role
from bbops_server.process.webhooks.deliveries import (
    MAX_KEPT,
    HookDeliveries,
    HookDelivery,
    describe_error,
    show_receiver,
)
from bbops_server.process.webhooks.delivery_queue import DeliveryQueue
from bbops_server.process.webhooks.message import HookMessage
from bbops_server.process.webhooks.outbox import WebhookOutbox
from bbops_server.settings import Settings, Webhook
from tests.support.control import Tried, tried
from tests.support.patience import eventually, settle, wait_for
from tests.support.statuses import Start, control
from tests.support.webhooks import NAME, SECRET, Receiver, folder, receiver, serve

__all__ = ["control", "folder", "receiver", "tried"]

URL = "https://chat.example.com/hooks/T0/s3cret?key=s3cret"
SHOWN = "https://chat.example.com/…"


@pytest.mark.long
def test_what_was_sent_is_told_tried_again_and_tested(folder: Path, receiver: Receiver) -> None:
    with serve(folder, f"{receiver.url}/s3cret") as server:
        server.until("live", "one")
        wait_for(lambda: receiver.taken)
        (first,) = json.loads(server.bbops("hooks", "list", "--json").stdout)
        assert (first["event"], first["project"], first["outcome"]) == ("published", "one", "taken")
        assert (first["status"], first["tries"]) == (204, 1)
        pinged = server.bbops("hooks", "test", "--json")
        assert pinged.returncode == 0, pinged.stderr
        assert (receiver.taken[-1]["type"], json.loads(pinged.stdout)[0]["status"]) == ("ping", 204)

        receiver.answers = 500
        server.commit_version("one", 2)
        server.until("live", "one")
        wait_for(lambda: len(receiver.tried) == 3)
        waiting = json.loads(server.bbops("hooks", "list", "--json").stdout)[0]
        assert (waiting["outcome"], waiting["error"]) == ("waiting", "it answered 500")
        failed = server.bbops("hooks", "test")
        assert (failed.returncode, "it answered 500" in failed.stdout) == (1, True)
        assert "dropped" in failed.stdout

        receiver.answers = 204
        done = server.bbops("hooks", "resend", waiting["id"][:12], "--json")
        again = json.loads(done.stdout)
        assert (done.returncode, again["outcome"], again["id"]) == (0, "taken", waiting["id"])
        assert receiver.tried.count(waiting["id"]) == again["tries"]
        assert receiver.taken[-1]["data"]["version"] == "bbops/one/v2"
        every = json.loads(server.bbops("hooks", "list", "--json").stdout)
        assert [one["event"] for one in every] == ["ping", "published", "ping", "published"]
        unknown = server.bbops("hooks", "resend", "msg_no")
        assert (unknown.returncode, "no message 'msg_no'" in unknown.stderr) == (2, True)
        nobody = server.bbops("hooks", "test", "elsewhere")
        assert "there is no receiver 'elsewhere'" in nobody.stderr
        log = (server.home / "log").read_text()
    assert "s3cret" not in str(every) + log + failed.stdout + nobody.stderr
    kept = "".join(one.read_text() for one in (folder / ".bbops/state/webhooks").iterdir())
    assert "s3cret" not in kept
    assert SECRET not in kept


# ---- without a server
def test_a_try_that_fails_late_does_not_undo_one_that_was_taken(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, SECRET)
    hook = Webhook(receiver.url, frozenset({"published"}), NAME)
    outbox = WebhookOutbox(lambda: Settings(tmp_path, egress=("127.0.0.1",), webhooks=(hook,)))
    receiver.answers = 500
    receiver.gate.clear()

    async def send_twice() -> dict[str, Any]:
        running = asyncio.create_task(outbox.run())
        outbox.enqueue("published", {"project": "one"})
        await eventually(lambda: receiver.tried)
        receiver.answers = 204
        (first,) = outbox.messages(5)
        resending = asyncio.create_task(outbox.resend(first["id"]))
        await settle()
        receiver.gate.set()
        done = await resending
        await settle()
        running.cancel()
        await asyncio.wait({running})
        return done

    done = asyncio.run(send_twice())
    assert done["outcome"] == "taken"
    (last,) = outbox.messages(5)
    assert (last["outcome"], last["status"]) == ("taken", 204)


def message(number: int = 1, *, age: timedelta = timedelta()) -> HookMessage:
    return HookMessage(f"msg_{number}", '{"type":"published","data":{}}', datetime.now(UTC) - age)


def test_a_message_goes_where_the_settings_say_and_no_further(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, SECRET)
    hook = Webhook(receiver.url, frozenset({"published"}), NAME)
    outbox = WebhookOutbox(lambda: Settings(tmp_path, egress=("127.0.0.1",), webhooks=(hook,)))
    receiver.answers = 307
    (done,) = asyncio.run(outbox.test(""))
    assert (done["outcome"], done["error"]) == (
        "dropped", "it redirects with 307, and redirects are not followed here"
    )  # fmt: skip
    assert len(receiver.tried) == 1


def test_the_last_messages_are_kept_and_the_last_try_of_each(tmp_path: Path) -> None:
    sent = HookDeliveries(tmp_path, URL)
    sent.known = [HookDelivery(message(number)) for number in range(MAX_KEPT)]
    sent.record(HookDelivery(message(MAX_KEPT), "dropped"))
    sent.record(HookDelivery(message(5), "taken", status=200))
    again = HookDeliveries(tmp_path, URL).known
    assert [one.message.id for one in again[-2:]] == [f"msg_{MAX_KEPT}", "msg_5"]
    assert (len(again), again[-1].status) == (MAX_KEPT, 200)
    assert [one.message.id for one in again].count("msg_5") == 1


def test_what_waits_is_tried_again_until_it_is_taken_or_too_old(tmp_path: Path) -> None:
    line = DeliveryQueue(tmp_path, URL)
    for number in (1, 2):
        line.queue.put(message(number))
    assert line.settle(HookDelivery(message(1))).outcome == "waiting"
    assert line.settle(HookDelivery(message(2), "taken")).outcome == "taken"
    assert [one.id for one in line.queue.waiting] == ["msg_1"]
    assert line.settle(HookDelivery(message(7))).outcome == "dropped"
    assert line.settle(HookDelivery(message(1, age=timedelta(days=2)))).outcome == "dropped"
    assert line.queue.first is None
    line.queue.put(message(9))
    assert [one.message.id for one in line.deliveries()] == ["msg_2", "msg_7", "msg_1", "msg_9"]


@pytest.mark.parametrize(("url", "shown"), [
    (URL, SHOWN), ("https://example.com/", "https://example.com"),
    ("http://127.0.0.1:9000?a=1", "http://127.0.0.1:9000/…"),
    ("https://ada:pass@example.com:8443/x", "https://example.com:8443/…"),
])  # fmt: skip
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert show_receiver(url) == shown


def test_an_error_says_no_address_and_ends() -> None:
    told = describe_error(ValueError(f"{URL} {'x' * 5_000}"), URL)
    assert told.startswith(f"{SHOWN} xxx")
    assert len(told) == 300
    assert describe_error(TimeoutError(), URL) == "TimeoutError"


def test_it_is_for_owners_and_on_record(tried: Tried) -> None:
    tried.add("max@example.com", Role.MAINTAINER)
    assert tried.as_person("max@example.com").get("/api/hooks").status_code == 403
    browser = tried.as_person("ada@example.com")
    browser.get("/account")
    headers = {"x-csrf-token": browser.csrf}
    assert browser.get("/api/hooks?limit=1").json()[0]["receiver"] == SHOWN
    assert browser.get("/api/hooks?limit=0").status_code == 400
    assert browser.call("POST", "/api/hooks/test", json={}, headers=headers).status_code == 200
    assert browser.call("POST", "/api/hooks/msg_1/resend", headers=headers).status_code == 200
    assert browser.call("POST", "/api/hooks/msg_2/resend", headers=headers).status_code == 409
    noted = [(one.action, one.object) for one in tried.book.audit.list(limit=2)]
    assert noted == [("resend webhook", f"{SHOWN} msg_1"), ("test webhooks", SHOWN)]


# ---- the command
SENT = {
    "id": "msg_0123456789abcdef", "receiver": SHOWN, "event": "published", "project": "shop",
    "at": "2026-01-02T03:04:05.678Z", "tries": 3, "outcome": "waiting", "tried_at": None,
    "status": 500, "error": "it answered 500",
}  # fmt: skip


def test_the_list_is_a_line_for_each_message(control: Start) -> None:
    url = control({"GET /api/hooks?limit=50": (200, [SENT])})
    shown = CliRunner().invoke(command, ["list", "--server", url]).stdout
    assert shown == (
        f"msg_01234567  2026-01-02T03:04:05Z  waiting  500  3x  {SHOWN}  published shop\n"
        "    it answered 500\n"
    )
    assert json.loads(
        CliRunner().invoke(command, ["list", "--json", "--server", url]).stdout
    ) == [SENT]  # fmt: skip


def test_a_test_that_is_not_taken_ends_with_1(control: Start) -> None:
    url = control({
        "POST /api/hooks/test": (200, [SENT]), "POST /api/hooks/msg_1/resend": (200, SENT),
    })  # fmt: skip
    for asked in (["test"], ["resend", "msg_1"]):
        done = CliRunner().invoke(command, [*asked, "--server", url], standalone_mode=False)
        assert done.return_value == 1
