"""What a project promises to those who call it, as one value that every format is written from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

Schema = dict[str, Any]
"""JSON Schema 2020-12."""
SHAPES: Final = "#/shapes/"
"""What a reference to a shape begins with."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A way to say who asks.

    Attributes:
        name: as routes name it.
        kind: `bearer` is a token in the header `authorization`.
        key: of the header, the field of the query or the cookie that carries it.
        description: what it is, and where it comes from.
    """

    name: str
    kind: Literal["bearer", "header", "query", "cookie"]
    key: str
    description: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a request carries beside its body.

    Attributes:
        name: of it.
        place: where it stands.
        required: whether it must be there.
        schema: of its value; one that no shape declares is a text.
        description: what it means.
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
        required: whether it must be there.
        schema: of its value.
    """

    content_type: str
    required: bool
    schema: Schema


@dataclass(frozen=True, slots=True)
class Answer:
    """What comes back.

    Attributes:
        status: of it; null for one that is known only when it happens.
        content_type: of its body, empty where there is none.
        schema: of its body; null where there is none, empty where it can be anything.
        reasons: when it comes; nothing for what is usual.
        headers: that it carries, as the project does not choose them.
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
        name: of the case; empty where it is from shapes.
        params: of the path.
        query: of the address.
        body: of the request; null where there is none.
        status: of the answer.
        value: of the answer; null where there is none.
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
        id: `notes.create` of `endpoints/notes/create.yaml`; it stays while the file is there.
        tag: the folder of its endpoint, else its channel.
        method: GET, POST, PUT, PATCH or DELETE.
        path: the whole of it, with `{name}` for parameters.
        channel: the name of its file; null where there is none.
        description: in the words of the project.
        security: the names of schemes of which one is enough; empty for an open route.
        is_open: whether it also answers those who do not say who they are.
        rate_limit: requests for each client, in a minute or in `rate_per`; 0 for any number.
        parameters: of path, query and headers.
        body: of the request; null where it reads none.
        answers: by status.
        examples: the good ones first.
        roles: of which the signed-in user needs one; empty for everybody who may ask.
        rate_per: the time in which `rate_limit` counts.
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
    """How people sign in, and stay so.

    Attributes:
        login: the id of the operation that gives a token, and so with the next three; null where
            the project has, or publishes, none.
        signup: makes an account.
        refresh: gives a new token; without it, expiry means to log in again.
        logout: ends it.
        token_field: of the answers of login, signup and refresh.
        refresh_field: what refresh takes.
        header: that protected routes take.
        expires_in: how long a token is good.
        refresh_expires_in: how long a sign-in lasts without being used.
        cookie: carries the token instead, if there is one.
        csrf_header: repeats the cookie `csrf` in requests that change something by cookie.
        keys: where the public keys of tokens are, for other programs that verify them; null where
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
        event: such as `order.done`, which is `type` of the message.
        description: of the webhook, in the words of the project.
        schema: of `data` of the message.
    """

    webhook: str
    event: str
    description: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a topic: `{event, payload}`.

    Attributes:
        event: such as `note.added`.
        schema: of the payload.
    """

    event: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class KeptMessages:
    """How many messages are kept for clients that come back, and for how long."""

    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that clients subscribe to, below `/~realtime`.

    Attributes:
        id: the name of its file; it stays while the file is there.
        address: with `{name}` for parameters, which are percent-encoded.
        description: in the words of the project.
        security: the names of schemes of which one is enough; empty for an open topic.
        is_restricted: whether the project decides who may subscribe.
        parameters: of the address.
        messages: what comes.
        can_publish: whether clients may publish, too, where the project lets them.
        history: null where no message is kept.
        has_presence: whether subscribers can see who is there.
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
    """Everything a project publishes to those who call it.

    Attributes:
        version: of this form; a key may join it, none goes or changes its meaning.
        digest: names what it says: the same digest, the same contract.
        project: its name.
        description: in the words of the project.
        server: where it answers; empty where nobody said.
        schemes: that its routes take.
        session: how people sign in; null where nobody does.
        shapes: what several schemas share, by name; they refer to one as `#/shapes/Name`.
        operations: its routes, by tag, path and method; hidden ones are not among them.
        pages: prose, by name.
        webhooks: what it sends, by webhook and event.
        topics: what clients subscribe to, by name.
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
