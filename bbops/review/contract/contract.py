"""The contract between a project and its clients, one value from which every format is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from bbops.language.json_schema import Schema

SHAPES: Final = "#/shapes/"
"""The prefix of a reference to a shape."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """An authentication scheme.

    Attributes:
        name: the name in routes.
        kind: `bearer` is a token in the header `authorization`.
        key: the name of the header, query field or cookie that carries it.
        description: its meaning and its source.
    """

    name: str
    kind: Literal["bearer", "header", "query", "cookie"]
    key: str
    description: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value of a request beside its body.

    Attributes:
        name: the name.
        place: the part of the request.
        required: whether it must be given.
        schema: the schema of its value; undeclared values are texts.
        description: its meaning.
    """

    name: str
    place: Literal["path", "query", "header"]
    required: bool
    schema: Schema
    description: str = ""

    @property
    def is_deep(self) -> bool:
        """Whether its fields are names in brackets: `created_at[gte]`."""
        return self.place == "query" and "properties" in self.schema


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request.

    Attributes:
        content_type: JSON, or a form where there are files.
        required: whether it must be given.
        schema: the schema of its value.
    """

    content_type: str
    required: bool
    schema: Schema


@dataclass(frozen=True, slots=True)
class Answer:
    """A response.

    Attributes:
        status: the status; null if it is computed for each request.
        content_type: the type of its body, empty without a body.
        schema: the schema of its body; null without a body, empty if it can be anything.
        reasons: the cases of this answer; empty for the usual one.
        headers: its automatic headers.
    """

    status: int | None
    content_type: str
    schema: Schema | None
    reasons: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A request with its answer, from the project's tests or else from its shapes.

    Attributes:
        name: the name of the test's case; empty for an example from shapes.
        params: the parameters of the path.
        query: the query of the address.
        body: the body of the request; null without one.
        status: the status of the answer.
        value: the body of the answer; null without one.
    """

    name: str
    params: dict[str, Any]
    query: dict[str, Any]
    body: Any
    status: int
    value: Any


@dataclass(frozen=True, slots=True)
class Operation:
    """One route.

    Attributes:
        id: `notes.create` of `endpoints/notes/create.yaml`; it stays as long as the file.
        tag: the folder of its endpoint, else its channel.
        method: GET, POST, PUT, PATCH or DELETE.
        path: the full path, with `{name}` for parameters.
        channel: the name of its file; null without a channel.
        description: the description in the project.
        security: the names of schemes of which one is enough; empty for an open route.
        is_open: whether it also answers anonymous requests.
        rate_limit: requests for each client, in a minute or in `rate_per`; 0 for any number.
        parameters: the values in path, query and headers.
        body: the body of the request; null if it reads none.
        answers: the answers by status.
        examples: the examples, successful ones first.
        roles: the roles of which the signed-in user needs one; empty for every user.
        rate_per: the window of `rate_limit`.
        is_chat: whether it is a route of an agent, not of an endpoint.
    """

    id: str
    tag: str
    method: str
    path: str
    channel: str | None
    description: str
    security: tuple[str, ...]
    is_open: bool
    rate_limit: int
    parameters: tuple[Parameter, ...]
    body: Body | None
    answers: tuple[Answer, ...]
    examples: tuple[Example, ...]
    roles: tuple[str, ...] = ()
    rate_per: str = "1m"
    is_chat: bool = False


@dataclass(frozen=True, slots=True)
class Cookie:
    """The cookie that carries the token: scripts cannot read it."""

    name: str
    same_site: str
    secure: bool
    domain: str | None
    path: str


@dataclass(frozen=True, slots=True)
class Session:
    """How users sign in, and stay signed in.

    Attributes:
        login: the id of the operation that returns a token, as in the next three keys; null if the
            project has, or publishes, none.
        signup: creates an account.
        refresh: returns a new token; without it, users log in again after expiry.
        logout: ends the session.
        token_field: a field in the answers of login, signup and refresh.
        refresh_field: the field with the refresh token.
        header: the header of protected routes.
        expires_in: the lifetime of a token.
        refresh_expires_in: how long a sign-in lasts without being used.
        cookie: carries the token instead, if there is one.
        csrf_header: repeats the cookie `csrf` in requests that change something by cookie.
        keys: the address of the public keys of tokens, for other programs that verify them; null if
            the project signs with a secret.
        providers: paths that a browser opens to sign in at another service, with the path to come
            back to in the query as `return`.
    """

    login: str | None
    signup: str | None
    refresh: str | None
    logout: str | None
    token_field: str | None
    refresh_field: str | None
    header: str
    expires_in: str
    refresh_expires_in: str | None
    cookie: Cookie | None
    csrf_header: str | None
    keys: str | None = None
    providers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """Prose of the project: a file of its folder `docs`, without `.md`."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class SentEvent:
    """An event that the project sends to receivers of a webhook.

    Attributes:
        webhook: the name of its file.
        event: the name, such as `order.done`, which is `type` of the message.
        description: the description of the webhook in the project.
        schema: the schema of `data` in the message.
    """

    webhook: str
    event: str
    description: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a topic: `{event, payload}`.

    Attributes:
        event: the name, such as `note.added`.
        schema: the schema of the payload.
    """

    event: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class KeptMessages:
    """The number of messages that are kept for clients that come back, and their age limit."""

    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that clients subscribe to, below `/~realtime`.

    Attributes:
        id: the name of its file; it stays as long as the file.
        address: the name with `{name}` for parameters, which are percent-encoded.
        description: the description in the project.
        security: the names of schemes of which one is enough; empty for an open topic.
        is_restricted: whether the project decides who may subscribe.
        parameters: the parameters of the address.
        messages: the messages of the topic.
        can_publish: whether clients may publish, too, if the project allows it.
        history: null if messages are not kept.
        has_presence: whether subscribers can see each other.
    """

    id: str
    address: str
    description: str
    security: tuple[str, ...]
    is_restricted: bool
    parameters: tuple[Parameter, ...]
    messages: tuple[Message, ...]
    can_publish: bool
    history: KeptMessages | None
    has_presence: bool


@dataclass(frozen=True, slots=True)
class Contract:
    """The published interface of a project, for its clients.

    Attributes:
        version: the version of this form; keys may be added, but never removed or redefined.
        digest: the hash of the content: the same digest, the same contract.
        project: the name of the project.
        description: the description in the project.
        server: the address of the server; empty if it is unknown.
        schemes: the authentication schemes of its routes.
        session: how users sign in; null without users.
        shapes: the shared parts of schemas, by name; referred to as `#/shapes/Name`.
        operations: its routes, by tag, path and method, without hidden ones.
        pages: texts, by name.
        webhooks: the events that it sends, by webhook and event.
        topics: the topics that clients subscribe to, by name.
    """

    version: Literal[1]
    digest: str
    project: str
    description: str
    server: str
    schemes: tuple[Scheme, ...]
    session: Session | None
    shapes: dict[str, Schema]
    operations: tuple[Operation, ...]
    pages: tuple[Page, ...]
    webhooks: tuple[SentEvent, ...] = ()
    topics: tuple[Topic, ...] = ()
