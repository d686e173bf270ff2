"""issueTracker, held against atlassian-python-api."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer


def asking(request: Callable[[Any], object]) -> Callable[[str], object]:
    """Return what asks the library, which talks to an address."""

    def ask(url: str) -> object:
        from atlassian import Jira  # noqa: PLC0415 - of the extra 'vendors'

        with Jira(url, username="bot@b.c", password=CANARY, cloud=True, api_version="3") as client:
            return request(client)

    return ask


def text(*lines: str) -> dict[str, Any]:
    content: list[Any] = []
    for number, line in enumerate(lines):
        content += [{"type": "hardBreak"}] if number else []
        content.append({"type": "text", "text": line})
    return {"type": "paragraph", "content": content}


DOCUMENT = {"type": "doc", "version": 1, "content": [text("one", "two"), text("three")]}
FIELDS = {
    "project": {"key": "SHOP"}, "issuetype": {"name": "Bug"}, "summary": "Broken",
    "description": DOCUMENT, "priority": {"name": "High"}, "assignee": {"accountId": "a1"},
}  # fmt: skip
ISSUE = {"id": "1", "key": "SHOP-1", "self": "https://x/1"}
FOUND = {"issues": [{"id": "1", "key": "SHOP-1", "fields": {"summary": "x"}}]}

VENDOR = Vendor(
    "issueTracker",
    "instanceUrl: URL\nemail: bot@b.c\napiToken: ${ env.TRACKER_TOKEN }",
    {"TRACKER_TOKEN": CANARY},
    (
        Scenario(
            'issueTracker.createIssue: { projectKey: SHOP, issueType: Bug, summary: Broken,'
            ' description: "one\\ntwo\\n\\nthree", priority: High, assigneeAccountId: a1 }',
            asking(lambda client: client.create_issue(FIELDS)),
            Answer(201, ISSUE), ISSUE, {"query": "the library sends defaults of the vendor"},
        ),
        Scenario(
            "issueTracker.updateIssue: { issueKey: SHOP-1, fields: { summary: x } }",
            asking(lambda client: client.update_issue_field("SHOP-1", {"summary": "x"})),
            Answer(204), {"key": "SHOP-1"},
            {"query": "the library sends the default notifyUsers=true"},
        ),
        Scenario(
            "issueTracker.searchIssues: { jql: project = SHOP, fields: [summary] }",
            asking(lambda of: of.enhanced_jql("project = SHOP", fields=["summary"], limit=50)),
            Answer(body=FOUND), FOUND | {"nextPageToken": None},
            {
                "method": "the library sends GET, which long queries do not fit",
                "query": "same values in the body", "body": "same values",
                "type": "follows the body",
            },
        ),
        Scenario(
            "issueTracker.transitionIssue: { issueKey: SHOP-1, transitionId: '31' }",
            asking(lambda client: client.set_issue_status_by_transition_id("SHOP-1", "31")),
            Answer(204), {"key": "SHOP-1"},
        ),
    ),
    headers=("authorization",),
    refusal={"errorMessages": [], "errors": {"priority": "is required"}},
    words="priority: is required",
    reason="priority",
)  # fmt: skip
