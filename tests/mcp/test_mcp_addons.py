"""An agent makes an addon from a document: a plan that it commits to a draft, as any change."""

from __future__ import annotations

import json

import pytest

from tests.support.checkouts import Agent, agent, small_repository
from tests.support.served import git
from tests.support.vendors import GITHUB, STRIPE

__all__ = ["agent", "small_repository"]

DOCUMENT = json.dumps(STRIPE.document)
STEPS = {"createRefund": "POST /v1/refunds"}


def test_a_document_becomes_a_plan_and_the_plan_a_draft(agent: Agent) -> None:
    before = agent.refs()
    found = agent.call("preview_addon", name="billing", document=DOCUMENT, steps=STEPS)
    assert agent.refs() == before
    assert found["ok"]
    assert set(found["files"]) == {
        "addons/billing.yaml", "addons/billing/createRefund.yaml", "project.yaml",
    }  # fmt: skip
    assert found["steps"] == [
        {"step": "billing.createRefund", "operation": "POST /v1/refunds", "what": "made",
         "changes": [], "functions": []},
    ]  # fmt: skip
    assert "BILLING_TOKEN" in found["missingEnv"]
    assert "reaches api.stripe.com with secret BILLING_TOKEN: 1 write" in str(found["access"])
    (call,) = found["next"]
    agent.call(call["tool"], **call["arguments"])
    body = {"steps": [{"billing.createRefund": {"charge": "ch_1"}, "as": "it"},
                      {"return": {"value": "${ vars.it.idd }"}}]}  # fmt: skip
    change = {"op": "put", "ref": "function/hello", "body": body}
    wrong = agent.call("preview_changes", draft="my-change", changes=[change])
    assert [one["code"] for one in wrong["diagnostics"] if one["severity"] == "error"] == [
        "unknown-field",
    ]  # fmt: skip


def test_what_cannot_be_is_refused(agent: Agent) -> None:
    for arguments, words in (
        ({"name": "payments"}, "of the catalog"),
        ({"name": "../x"}, "is not a name"),
        ({"steps": {}}, "no step was named"),
        ({"steps": {"a": "GET /nothing"}}, "no operation"),
        ({"document": "{}"}, "expected an OpenAPI document"),
        ({"document": json.dumps(GITHUB.document), "server": "file:///etc"}, "where the API is"),
        ({"draft": "no draft"}, "is not a valid branch name"),
    ):
        given = {"name": "billing", "document": DOCUMENT, "steps": STEPS, **arguments}
        assert words in agent.refused("preview_addon", **given).message


@pytest.mark.parametrize("kind", ["addon"])
def test_the_files_of_an_addon_are_resources_as_any(agent: Agent, kind: str) -> None:
    plan = agent.call("preview_addon", name="billing", document=DOCUMENT, steps=STEPS)["plan"]
    agent.call("apply_changes", draft="topic", plan=plan, message="Add")
    refs = [f"{kind}/billing", f"{kind}/billing.createRefund"]
    found = agent.call("context_read", draft="topic", refs=refs)
    assert [one["ref"] for one in found["resources"]] == refs


def test_the_steps_of_an_own_addon_are_in_the_catalog(agent: Agent) -> None:
    for path, text in {
        "addons/billing.yaml": "enabled: true\nserver: https://api.example.com\n",
        "addons/billing/refund.yaml": "title: Give back\nrequest: { method: POST, path: /r }\n"
        "parameters: { id: string, why?: string }\ngives: { id: string }\n",
    }.items():
        (agent.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (agent.folder / path).write_text(text)
    git(agent.folder, "add", "-A")
    git(agent.folder, "commit", "-q", "-m", "Add")
    assert agent.call("context_schema", addon="billing")["choices"] == {
        "billing.refund": "Give back",
    }  # fmt: skip
    found = agent.call("context_schema", step="billing.refund")
    taken = found["schema"]["properties"]["billing.refund"]
    assert (set(taken["properties"]), taken["required"]) == ({"id", "why"}, ["id"])
    assert found["schema"]["$defs"]["gives"]["properties"] == {"id": {"type": "string"}}
    for wanted, words in (
        ({"step": "billing.refnd"}, "did you mean 'billing.refund'?"),
        ({"step": "nothing.at"}, "ask with kind function"),
        ({"step": "emial.sendEmail"}, "did you mean 'email.sendEmail'?"),
        ({"addon": "biling"}, "did you mean 'billing'?"),
    ):
        assert words in agent.refused("context_schema", **wanted).hint
