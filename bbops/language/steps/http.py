"""http: send a request to another server."""

from __future__ import annotations

import ast
from typing import ClassVar, Literal

from bbops.base.model import Model
from bbops.language.expressions.types import ANY, INTEGER, TEXT, Type, list_of, map_of
from bbops.language.expressions.values import Constant, MapValue, Value, ValueField
from bbops.language.steps._base import Checking, Example, Step, mark_of
from bbops.language.steps._flow import Flow
from bbops.runtime.steps.http_call import can_send
from bbops.runtime.values.outside import may_repeat

ANSWER = map_of(
    {"status": INTEGER, "headers": map_of({}, rest=TEXT.or_null()), "body": ANY}, "the answer"
)


class HttpParameters(Model):
    """The request: `body` is sent as JSON, `form` as a form; `query` goes into the address."""

    url: ValueField
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "GET"
    headers: ValueField | None = None
    query: ValueField | None = None
    body: ValueField | None = None
    form: ValueField | None = None
    allow_status: ValueField | None = None


class Http(Step):
    """Give `{status, headers, body}`; another status than 2xx, or no answer, is an error.

    - `body` of the answer is the value of JSON, else text.
    - `retry` sends a `POST` or `PATCH` again only where the first one was not carried out: nothing
      was connected, or the answer is 429, 503 or 529. With a header `idempotency-key` it is sent
      again as other methods are: where there is no answer, too, and after 408, 425, 500, 502, 504
      and 520 to 524. It waits as long as `retry-after` asks for, at most a minute.
    - A header cannot contain line breaks and other control characters: 400 where a client sent
      them. Its value is sent as Latin-1, or as UTF-8 if it has other characters.
    - Redirects are followed; to another origin only with the headers `accept`, `accept-language`,
      `content-type` and `user-agent`, and without a body: a redirect that would take one there (a
      307, say) is the answer, and as such an error.
    - `allowStatus: [404]` makes such an answer no error. In `catch`, `error.status` is the status
      that was answered, and `error.code` one of `httpFailed`, `httpTimeout` (30 s, or the step's
      `timeout`), `httpUnreachable`, `httpRefused`, `httpTooLarge` (over 10 MB), `httpInvalid`.
    - Addresses of the server's own machine and network are refused, also behind names and
      redirects, unless `egress` in `server.yaml` allows them.
    - Tests answer it with `mocks`.
    """

    title: ClassVar[str] = "External API Call"
    writes: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Ask, and take a missing one for an answer",
            "- http:\n"
            "    method: POST\n"
            "    url: https://api.example.com/orders\n"
            "    query: { draft: true }\n"
            "    body: { item: 7 }\n"
            "    allowStatus: [404]\n"
            "  timeout: 5s\n"
            "  retry: { attempts: 3, backoff: 200ms }\n"
            "  as: answer\n"
            "- return: { value: ['${ vars.answer.status }', '${ vars.answer.body.url }'] }",
            value=[200, "https://api.example.com/orders?draft=true"],
        ),
    )

    http: HttpParameters

    def check(self, at: Checking) -> Type:
        given = self.http
        at.need(given.url, "text", "'url'", self.place("url"))
        url = given.url.value if isinstance(given.url, Constant) else None
        if isinstance(url, str) and not url.startswith(("https://", "http://")):
            message = f"expected an address such as https://api.example.com, got '{url}'"
            at.report(mark_of(given.url) or self.place("url"), "bad-value", message)
        if given.body is not None and given.form is not None:
            at.report(self.place("form"), "http", "a request has 'body' or 'form', not both")
        for name in ("headers", "query", "form"):
            self.check_texts(at, name, getattr(given, name))
        at.value(given.body)
        self.check_allowed(at)
        return ANSWER

    def repeats(self) -> bool:
        """Return whether the request may be sent twice: by its method, or its idempotency key."""
        headers = self.http.headers
        names = [name for name, _ in headers.items] if isinstance(headers, MapValue) else []
        return may_repeat(self.http.method, names)

    def check_texts(self, at: Checking, what: str, value: Value | None) -> None:
        """Report a value that is not a map of texts and numbers; null leaves a name out."""
        of = at.need(value, "map", f"'{what}'", self.place(what), null=True)
        for name, field in (of.fields or {}).items():
            keys = value.keys_at if isinstance(value, MapValue) else None
            place = (keys or {}).get(name) or self.place(what)
            member = (
                field.item if field.kind == "list" and field.item and what != "headers" else field
            )
            if member.kind in {"map", "list", "binary"}:
                at.report(place, "type", f"'{name}' needs text or a number, got {field}")
            if what == "headers" and not can_send(name):
                at.report(place, "bad-name", f"header '{name}' cannot be set")
        if what == "headers" and isinstance(value, MapValue):
            for name, item in value.items:
                at.header_value(name, item, (value.keys_at or {}).get(name))

    def check_allowed(self, at: Checking) -> None:
        allowed, place = self.http.allow_status, self.place("allowStatus")
        if allowed is None:
            return
        found = at.value(allowed)
        wanted = list_of(INTEGER)
        is_list = found.kind in {"any", "list"} and (found.item or ANY).kind in {"any", "integer"}
        if not is_list:
            message = f"'allowStatus' needs a {wanted}, got {found}"
            at.report(mark_of(allowed) or place, "type", message, "write [404]")

    def code(self, flow: Flow) -> list[ast.stmt]:
        given = self.http
        return flow.compute(
            self.as_,
            "await ask(host, method, url, headers, query, body, form, allowed)",
            ask="bbops.runtime.steps.http_call:ask",
            host=flow.root("host"),
            method=ast.Constant(given.method),
            url=flow.value(given.url),
            headers=flow.value(given.headers),
            query=flow.value(given.query),
            body=self.listed(flow, "body"),
            form=self.listed(flow, "form"),
            allowed=flow.value(given.allow_status),
        )

    def listed(self, flow: Flow, name: str) -> ast.expr:
        """Return the code of a list of one, empty if it was left out: null is a value, too."""
        given = name in self.http.model_fields_set
        return ast.List([flow.value(getattr(self.http, name))] if given else [], ast.Load())
