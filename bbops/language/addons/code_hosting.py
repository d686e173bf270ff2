"""codeHosting: issues of a repository on a code host."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may, need
from bbops.language.expressions.types import ANY, INTEGER, TEXT, list_of, map_of

_ISSUE = map_of(
    {
        "id": INTEGER, "number": INTEGER, "title": TEXT, "body": TEXT.or_null(), "state": TEXT,
        "html_url": TEXT, "labels": ANY, "assignees": ANY, "user": ANY, "created_at": TEXT,
    },
    "the issue",
)  # fmt: skip


class Config(Model):
    """A token that may read and write issues. `endpoint` is for a server of your own."""

    access_token: Secret = Field(
        description="A fine-grained token of GitHub that may read and write issues."
    )
    endpoint: Setting | None = Field(
        default=None,
        description="The address of a GitHub Enterprise server, such as `https://github.example.com/api/v3`.",
    )


ADDON = AddonKind(
    "Code Hosting",
    "Issues of a repository.",
    Config,
    {
        "createIssue": AddonAction(
            "Create Issue",
            "Open an issue.",
            (
                need("owner"),
                need("repo"),
                need("title"),
                may("body", "text", "Markdown"),
                may("labels", "list", "Names of labels"),
                may("assignees", "list", "Names of accounts"),
            ),
            _ISSUE,
            "- codeHosting.createIssue: { owner: acme, repo: shop, title: It is broken }\n"
            "  as: issue\n"
            "- return:\n"
            "    value: ${ vars.issue.number }",
        ),
        "listIssues": AddonAction(
            "List Issues",
            "List the issues of a repository, newest first, 1,000 at most.",
            (
                need("owner"),
                need("repo"),
                may("state", "text", "open if left out", options=("open", "closed", "all")),
                may("labels", "text", "Names with commas between them"),
            ),
            list_of(_ISSUE),
            "- codeHosting.listIssues: { owner: acme, repo: shop, state: open }\n"
            "  as: issues\n"
            "- return:\n"
            "    value: ${ vars.issues | pluck('title') }",
            repeat="safe",
            writes=False,
        ),
        "createComment": AddonAction(
            "Create Comment",
            "Comment on an issue.",
            (
                need("owner"),
                need("repo"),
                need("issueNumber", "integer"),
                need("body", "text", "Markdown"),
            ),
            map_of(
                {"id": INTEGER, "body": TEXT, "html_url": TEXT, "created_at": TEXT}, "the comment"
            ),
            "- codeHosting.createComment: { owner: acme, repo: shop, issueNumber: 7, body: Fixed }",
        ),
    },
    config_example="accessToken: ${ env.CODE_HOSTING_TOKEN }",
    hosts=("api.github.com",),
    scopes=("fine-grained token: Issues, read and write",),
    service="GitHub",
    key_source="https://github.com/settings/personal-access-tokens",
)
