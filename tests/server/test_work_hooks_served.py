"""Webhooks and events of a real server: signed, once, shown masked, and run again."""

from __future__ import annotations

import hmac
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks.webhooks import Webhook

from tests.support.patience import wait_for
from tests.support.shop import SECRET, Shop, Work, write

HOOK_PROJECT = "bbops: 1\nname: shop\nenv: { HOOK_SECRET: { secret: true } }\n"
HOOK = """
webhook:
  path: /hooks/pay
  signature: { scheme: standard, secret: "${ env.HOOK_SECRET }" }
function: paid
"""
PAID = """
payload: { number: integer }
steps:
  - insert:
      table: marks
      data: { number: "${ event.payload.number }", word: "${ event.name }" }
"""


def deliver(served: Work, name: str, body: str, **wrong: str) -> tuple[int, str]:
    """Post a body that is signed; returns the status, and the code of an error."""
    at = datetime.now(UTC) - timedelta(seconds=int(wrong.pop("age", "0")))
    headers = {
        "webhook-id": name, "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(SECRET).sign(name, at, body),
        "content-type": "application/json",
    } | wrong  # fmt: skip
    reply = served.api.post("/hooks/pay", content=body, headers=headers)
    return reply.status_code, reply.json()["error"]["code"] if reply.content else ""


@pytest.mark.long
def test_a_delivery_is_shown_without_its_signature_and_runs_again(shop: Shop) -> None:
    served = shop(project=HOOK_PROJECT, triggers__pay=HOOK, functions__paid=PAID)
    run = served.bbops
    assert deliver(served, "a", '{"number": 7, "token": "hidden-one"}') == (202, "")
    wait_for(lambda: served.count("pay") == 1)
    assert "  received   triggers/pay@a\n" in run("deliveries", "list").stdout
    assert run("deliveries", "list", "--sent").stdout == "no deliveries\n"
    shown = run("deliveries", "show", "triggers/pay@a").stdout
    assert "webhook-signature: ***\n" in shown
    assert "webhook-id: a\n" in shown
    assert 'body  {"number": 7, "token": "***"}\n' in shown
    again = run("deliveries", "replay", "triggers/pay@a", "--json")
    job = json.loads(again.stdout)["job"]
    wait_for(lambda: "done" in run("jobs", "show", job).stdout)
    assert served.count("pay") == 2
    assert "there is no delivery 'triggers/pay@b'" in run(
        "deliveries", "replay", "triggers/pay@b").stderr  # fmt: skip


@pytest.mark.long
def test_a_secret_that_the_scheme_cannot_use_stalls_the_publication(shop: Shop) -> None:
    served = shop()
    project = "bbops: 1\nname: shop\nenv: { SHORT: { default: two words } }\n"
    hook = HOOK.replace("HOOK_SECRET", "SHORT")
    write(served, {
        "project.yaml": project, "triggers/pay.yaml": hook, "functions/paid.yaml": PAID,
    })  # fmt: skip
    stalled = served.stalled()
    assert stalled["reason"] == "SecretUnusable"
    assert stalled["message"] == (
        "triggers/pay.yaml:4:43: SHORT: the secret of the webhook is not base64,"
        " with or without 'whsec_' before it"
    )
    assert stalled["hint"].startswith("bbops env set SHORT --state ")


@pytest.mark.long
def test_an_empty_secret_stalls_the_publication_unless_another_one_is_listed(shop: Shop) -> None:
    served = shop()
    old = "bbops: 1\nname: shop\nenv: { OLD: { default: '' }, NEW: { default: '%s' } }\n"
    hook = HOOK.replace('"${ env.HOOK_SECRET }"', '["${ env.NEW }", "${ env.OLD }"]')
    hook = hook.replace("scheme: standard", "header: x-signature")
    write(served, {
        "project.yaml": old % "", "triggers/pay.yaml": hook, "functions/paid.yaml": PAID,
    })  # fmt: skip
    stalled = served.stalled()
    assert stalled["reason"] == "SecretUnusable"
    assert stalled["message"].endswith(": NEW: the secret of the webhook is empty")
    write(served, {"project.yaml": old % "new secret"})
    served.live()


@pytest.mark.long
def test_a_trigger_runs_again_for_the_events_of_the_log(shop: Shop) -> None:
    served = shop()
    run = served.bbops
    emitted = run("events", "emit", "order.paid", '{"number": 1}')
    assert emitted.stdout == "emitted order.paid; triggers/paid waits for it\n", emitted
    assert "only bbops emits 'bbops.job-dead'" in run("events", "emit", "bbops.job-dead").stderr
    served.order(2)
    wait_for(lambda: served.count("done") == 2)
    assert run("events", "list", "order.paid").stdout.count('order.paid  {"number": ') == 2
    since = ["events", "replay", "--to", "paid", "--since", "1h"]
    refused = run(*since, stdin="n\n")
    assert refused.returncode == 1
    assert "run paid again for 2 events?" in refused.stderr
    assert run(*since, "--yes").stdout == (
        "2 events of paid run again; 'bbops jobs list' shows them\n"
    )
    wait_for(lambda: served.count("done") == 4)
    missing = run("events", "replay", "--to", "pay", "--since", "1h", "--yes")
    assert "the project has no live trigger 'triggers/pay'" in missing.stderr
    assert "did you mean 'triggers/paid'?" in missing.stderr


@pytest.mark.long
def test_a_thousand_duplicates_run_once_whichever_process_takes_them(shop: Shop) -> None:
    served = shop(project=HOOK_PROJECT, triggers__pay=HOOK, functions__paid=PAID)
    with ThreadPoolExecutor(8) as several:
        answers = set(several.map(lambda _: deliver(served, "a", '{"number": 1}'), range(1_000)))
    assert answers == {(202, "")}
    wait_for(lambda: served.count("pay") == 1)
    wait_for(lambda: served.states() == {})
    assert served.count("pay") == 1
    assert served.query("SELECT count(*) FROM _bbops_job_log") == [(1,)]


@pytest.mark.long
def test_a_webhook_runs_once_however_often_it_comes_and_only_signed(shop: Shop) -> None:
    served = shop(project=HOOK_PROJECT, triggers__pay=HOOK, functions__paid=PAID)
    assert deliver(served, "a", '{"number": 1}') == (202, "")
    wait_for(lambda: served.count("pay") == 1)
    served.stop()
    served = shop()
    for _ in range(50):
        assert deliver(served, "a", '{"number": 1}') == (202, "")
    assert deliver(served, "b", '{"number": 2}') == (202, "")
    assert deliver(served, "c", '{"number": 3}', age="301") == (401, "signatureLate")
    assert deliver(served, "c", "{}", **{"webhook-id": "d"}) == (401, "signatureInvalid")
    assert deliver(served, "d", '{"number": "' + "x" * 1_000_000 + '"}')[0] == 413
    assert served.api.get("/hooks/pay").status_code == 405
    wait_for(lambda: served.count("pay") == 2)
    wait_for(lambda: served.states() == {})
    assert served.query("SELECT name FROM _bbops_received ORDER BY name") == [("a",), ("b",)]
    assert deliver(served, "e", '{"number": "many"}') == (202, "")
    wait_for(lambda: served.states() == {"dead": 1})
    ((error, attempts),) = served.query("SELECT error, attempts FROM _bbops_jobs")
    assert error == (
        "the payload does not fit function 'paid': 'number' must be a whole number [payloadInvalid]"
    )
    assert attempts == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"number": ', "it ends too early"),
        (b'{"number": "\xe9"}', "it is not UTF-8: byte 13 does not belong there"),
        (b'{"number": "\\ud83d"}', "'\\ud83d' at byte 13 is half of a character"),
    ],
)
def test_a_signed_delivery_is_kept_whatever_its_body(shop: Shop, body: bytes, reason: str) -> None:
    hook = HOOK.replace("standard", "github")
    served = shop(project=HOOK_PROJECT, triggers__pay=hook, functions__paid=PAID)
    signature = hmac.digest(SECRET.encode(), body, "sha256").hex()
    headers = {"x-hub-signature-256": f"sha256={signature}", "x-github-delivery": "a"}
    assert served.api.post("/hooks/pay", content=body, headers=headers).status_code == 202
    wait_for(lambda: served.states() == {"dead": 1})
    ((error,),) = served.query("SELECT error FROM _bbops_jobs")
    assert f"the body is not valid JSON: {reason}" in error
    assert error.endswith("[payloadInvalid]")
    assert "body" in served.bbops("deliveries", "show", "triggers/pay@a").stdout
