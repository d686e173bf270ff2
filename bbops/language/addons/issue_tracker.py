"""issueTracker: issues of a tracker, their fields and transitions."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may, need
from bbops.language.expressions.types import ANY, TEXT, list_of, map_of


class Config(Model):
    """The instance, and the account that acts there."""

    instance_url: Setting = Field(
        description="The address of the Jira site, such as `https://example.atlassian.net`."
    )
    email: Setting = Field(
        description="The email address of the Atlassian account that calls Jira."
    )
    api_token: Secret = Field(description="An API token of that account.")


ADDON = AddonKind(
    "Issue Tracker",
    "Issues of a tracker.",
    Config,
    {
        "createIssue": AddonAction(
            "Create Issue",
            "Open an issue in a project.",
            (
                need("projectKey"),
                need("issueType", "text", "Such as Bug, Task, Story, Epic"),
                need("summary"),
                may("description", "any", "Text, or a document of the tracker as a map"),
                may("priority", "text", "Highest, High, Medium, Low, Lowest"),
                may("assigneeAccountId"),
            ),
            map_of({"id": TEXT, "key": TEXT, "self": TEXT}, "the issue"),
            "- issueTracker.createIssue: { projectKey: SHOP, issueType: Bug, summary: Broken }\n"
            "  as: issue\n"
            "- return:\n"
            "    value: ${ vars.issue.key }",
        ),
        "updateIssue": AddonAction(
            "Update Issue",
            "Change fields of an issue.",
            (
                need("issueKey"),
                need("fields", "map"),
            ),
            map_of({"key": TEXT}, "the issue"),
            "- issueTracker.updateIssue:\n"
            "    issueKey: SHOP-1\n"
            "    fields: { summary: It is still broken }",
            repeat="safe",
        ),
        "searchIssues": AddonAction(
            "Search Issues",
            "Find issues by the language of the tracker.",
            (
                need("jql"),
                may("maxResults", "integer", "50 if left out", limits=(1, 1_000)),
                may("fields", "list", "Names of fields"),
            ),
            map_of(
                {
                    "issues": list_of(map_of({"id": TEXT, "key": TEXT, "fields": ANY}, "an issue")),
                    "nextPageToken": TEXT.or_null(),
                },
                "the search",
            ),
            "- issueTracker.searchIssues: { jql: project = SHOP, maxResults: 10 }\n"
            "  as: found\n"
            "- return:\n"
            "    value: ${ vars.found.issues | pluck('key') }",
            repeat="safe",
            writes=False,
        ),
        "transitionIssue": AddonAction(
            "Transition Issue",
            "Move an issue to another state.",
            (
                need("issueKey"),
                need("transitionId"),
            ),
            map_of({"key": TEXT}, "the issue"),
            '- issueTracker.transitionIssue: { issueKey: SHOP-1, transitionId: "31" }',
        ),
    },
    config_example="instanceUrl: https://acme.example.com\n"
    "email: bot@acme.example.com\n"
    "apiToken: ${ env.ISSUE_TRACKER_TOKEN }",
    address="instanceUrl",
    scopes=("read:jira-work", "write:jira-work"),
    service="Jira",
    key_source="https://id.atlassian.com/manage-profile/security/api-tokens",
)
