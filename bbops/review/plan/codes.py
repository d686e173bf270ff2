"""The codes of a plan, and the findings that have them. A code never changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from bbops.base.diagnostics import Place

Section = Literal["break", "access", "work"]


@dataclass(frozen=True, slots=True)
class Code:
    """The meaning of a code.

    Attributes:
        section: `break` if existing clients stop working; `access` if a caller gets more access;
            `work` if it is about jobs.
        text: the meaning.
        cure: the fix if the change was not intended.
    """

    section: Section
    text: str
    cure: str


def _breaks(text: str, cure: str) -> Code:
    return Code("break", text, cure)


def _opens(text: str, cure: str) -> Code:
    return Code("access", text, cure)


def _works(text: str, cure: str) -> Code:
    return Code("work", text, cure)


_BESIDE = "keep the old route, and add the new one beside it, for example under /v2"

CODES: Final[Mapping[str, Code]] = {
    "route-removed": _breaks(
        "a route was removed, and its path has no other",
        "keep it until its last client has moved",
    ),
    "method-removed": _breaks(
        "a path no longer accepts a method, but still accepts others",
        "keep it until its last client has moved",
    ),
    "route-moved": _breaks(
        "an endpoint has a new method or path",
        "leave a copy of the endpoint at the old path",
    ),
    "authentication-required": _breaks(
        "a public route now needs a token", _BESIDE
    ),
    "authentication-changed": _breaks(
        "a route now needs another kind of authentication, or another token prefix", _BESIDE
    ),
    "api-key-required": _breaks("a route now needs an API key", _BESIDE),
    "roles-required": _breaks(
        "a route now refuses signed-in users whom it answered before",
        "keep the roles that could call it, or tell their users first",
    ),
    "input-required": _breaks(
        "a field of the request is now required",
        "make it optional with '?', or give it a default",
    ),
    "query-strict": _breaks(
        "a route refuses names of the query that are not declared, which it dropped before",
        "declare every name that clients send, or leave 'strictQuery' out",
    ),
    "input-removed": _breaks(
        "a field of the request is no longer read", "keep accepting it"
    ),
    "input-type": _breaks(
        "a field of the request has a new type, which existing requests may not match", _BESIDE
    ),
    "input-null": _breaks(
        "a field of the request can no longer be null", "write '?' after its type"
    ),
    "input-enum": _breaks(
        "a field of the request accepts fewer values", "keep accepting the values that clients send"
    ),
    "input-limit": _breaks(
        "a length, bound, pattern or size in the request is stricter", "keep the wider limit"
    ),
    "status-removed": _breaks(
        "a route no longer returns a status that clients expect", "keep the status"
    ),
    "field-removed": _breaks("a field of the response was removed", "keep the field"),
    "field-optional": _breaks(
        "a field of the response is now optional", "include it in every response"
    ),
    "field-null": _breaks(
        "a field of the response may now be null", "return a default value instead"
    ),
    "field-type": _breaks(
        "a field of the response has a new type, or its type is no longer known",
        "keep the type, and return the new value in a new field",
    ),
    "field-enum": _breaks(
        "a field of the response may have values that clients do not know",
        "tell the clients first, or keep the values",
    ),
    "signing-changed": _breaks(
        "everyone must sign in again, and programs that verify tokens need a new key",
        "announce it, or keep 'auth.algorithm'",
    ),
    "session-changed": _breaks(
        "frontends must sign in differently", "keep the names in 'session'"
    ),
    "topic-removed": _breaks(
        "a realtime topic, or one of its events, was removed", "keep it until nobody subscribes"
    ),
    "webhook-removed": _breaks(
        "a webhook was removed, and nothing handles its calls",
        "first remove the webhook at the service that calls it",
    ),
    "webhook-event-removed": _breaks(
        "a webhook, or one of its events, is no longer sent", "send it until no receiver needs it"
    ),
    "rows-hidden": _breaks(
        "a rule of a table hides rows that clients could see or change",
        "keep the rule, or add a condition only where those rows were never meant",
    ),
    "match-tightened": _breaks(
        "routes of a table reach fewer rows, by 'match' or 'owner'",
        "keep the old file beside it, in another channel",
    ),
    "authentication-removed": _opens(
        "a route that needed a token or key is now public", "keep the authentication"
    ),
    "authentication-optional": _opens(
        "a route that needed a token or key now also answers without one",
        "keep the authentication, or check what it answers where 'vars.auth' is null",
    ),
    "roles-loosened": _opens(
        "users of more roles, or every signed-in user, may call a route", "keep the roles"
    ),
    "rows-opened": _opens(
        "anybody can read values or rows that no public route returned before, or a topic shows"
        " more of them",
        "keep the authentication, select fewer columns, or restrict the rows in 'where'",
    ),
    "rate-limit-raised": _opens(
        "clients may send more requests, or any number", "keep the limit"
    ),
    "cors-widened": _opens(
        "pages of more origins can read responses, or send more with requests",
        "list only the origins that need it",
    ),
    "private-opened": _opens(
        "a column is no longer private, and may reach responses", "keep 'private: true'"
    ),
    "secret-opened": _opens(
        "an env variable is no longer secret, and may reach responses and the log",
        "keep 'secret: true'",
    ),
    "guard-removed": _opens(
        "a condition that refuses requests, or depends on the caller, was removed",
        "keep the check, in the function or in middleware",
    ),
    "guard-changed": _opens(
        "a condition that refuses requests, or depends on the caller, has changed",
        "check that it still refuses everything it should",
    ),
    "middleware-removed": _opens(
        "a route no longer runs a middleware function", "keep it in 'middleware'"
    ),
    "outside-address": _opens(
        "a function or an addon sends requests to a new server",
        "check who owns that server, and what is sent"
    ),
    "secret-read": _opens(
        "a function reads a secret for the first time", "check where it is sent"
    ),
    "signature-dropped": _opens(
        "a webhook accepts unsigned requests, or another secret",
        "keep the signature of the trigger",
    ),
    "sql-writes": _opens(
        "a function writes with its own SQL, which the checks of steps do not cover",
        "use 'insert', 'update' or 'delete' if possible",
    ),
    "topic-opened": _opens(
        "more clients can subscribe to a topic, or publish to it",
        "keep the condition of 'subscribe' or 'publish'",
    ),
    "cookie-loosened": _opens(
        "the session cookie is less protected", "keep 'secure', 'sameSite', 'csrfHeader'"
    ),
    "key-trusted": _opens(
        "tokens of another issuer are accepted", "check whose key it is"
    ),
    "sign-in-provider-added": _opens(
        "users can sign in at another service, or it is believed more than before",
        "check whose service it is, and whose mailboxes 'domains' names",
    ),
    "receiver-added": _opens(
        "a webhook is sent to somebody who did not get it before",
        "check whose address it is, and what the events say",
    ),
    "agent-tool-added": _opens(
        "an agent can call another function", "check what the function changes"
    ),
    "agent-opened": _opens(
        "strangers can start an agent: by a chat without JWT, a webhook, an event, rows or a topic",
        "check what its tools can do, and write 'approval' for those that change something",
    ),
    "approval-dropped": _opens(
        "an agent calls a tool without an approval that it needed", "keep 'approval' of the tool"
    ),
    "match-loosened": _opens(
        "routes of a table reach rows that 'match' or 'owner' left out",
        "keep the column in 'match'",
    ),
    "rule-loosened": _opens(
        "a rule of a table is another one, so that somebody may see or change other rows",
        "add conditions with 'and', or remove parts of 'or': that only hides rows",
    ),
    "scope-removed": _opens(
        "rows count that did not: 'scope' or 'softDelete' of a table is gone", "keep it"
    ),
    "unscoped-added": _opens(
        "a step reads rows that do not count", "remove 'unscoped', or narrow 'where'"
    ),
    "bypass-added": _opens(
        "a step reads or changes rows whatever the table's rules say",
        "remove 'bypassAccess', or narrow 'where'",
    ),
    "review-loosened": _opens(
        "changes need fewer approvals, or no passing tests",
        "keep the rules; this change itself is still reviewed by the current ones",
    ),
    "jobs-stranded": _works(
        "the code that jobs have begun with does not fit the new tables",
        "let the jobs end first, or keep what they read until they have:"
        " 'bbops jobs list' shows them",
    ),
    "work-removed": _works(
        "a trigger or task was removed, or nothing enqueues a function any more",
        "say 'renamedFrom' if it has another name now; jobs that are held are dropped after 7 days",
    ),
    "work-changed": _works(
        "jobs that begin from now on run other code",
        "nothing; 'bbops jobs retry JOB --from-start' moves a job to the new code",
    ),
    "schedule-changed": _works("a task runs at other times", "keep the schedule"),
    "trigger-cost": _works(
        "the database starts to report changed rows of a table",
        "emit an event where the rows are changed, if that is in a few places",
    ),
    "trigger-refused": _works(
        "the database role may not create the SQL trigger that reports changed rows of a table, so"
        " the change cannot go live",
        "grant the permission as the owner of the table: the plan shows the statement",
    ),
}  # fmt: skip
"""Every code, breaks first."""


# ---- One consequence that a reviewer should know of: what it is about, and where it stands


@dataclass(frozen=True, slots=True)
class Finding:
    """A contract break, or access that is loosened.

    Attributes:
        code: as docs/plans.md explains it.
        subject: whose, for example `GET /notes/:id`.
        message: what is the matter, without the subject.
        file: in the new project, or in the old one where the new one has nothing to show.
        line: in that file, from 1.
        cure: what to do where it was not intended.
    """

    code: str
    subject: str
    message: str
    file: str
    line: int
    cure: str


def finding(code: str, subject: str, message: str, place: Place) -> Finding:
    """Return a finding at a place."""
    return Finding(code, subject, message, place.file, place.line, CODES[code].cure)


def sort_findings(found: list[Finding]) -> tuple[Finding, ...]:
    """Return findings once each: in the order of the codes, then by subject and place."""
    rank = {code: number for number, code in enumerate(CODES)}
    return tuple(sorted(set(found), key=lambda f: (rank[f.code], f.subject, f.file, f.line,
                                                   f.message)))  # fmt: skip
