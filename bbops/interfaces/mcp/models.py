"""What the tools of a project share: how a resource, a draft and a change of them are named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from bbops.language.resources import folders

SETTINGS: Final = "settings"
DOC: Final = "doc"
FOLDERS: Final[Mapping[str, str]] = {
    DOC: "docs", **{name: folder for name, folder in folders().items() if folder}, SETTINGS: "",
}  # fmt: skip
"""The folder of each kind; the settings are `project.yaml` alone."""

KINDS: Final = tuple(sorted(FOLDERS))
if TYPE_CHECKING:
    Kind = str
else:
    Kind = Literal[KINDS]

MOST_CHANGES: Final = 50
MOST_RESULT: Final = 24_000
"""Characters of the one long part of a result: a diff, a contract, bodies; about 6,000 tokens."""

Ref = Annotated[str, Meta(max_length=230, description="kind/name, such as endpoint/orders.list")]
ShortRef = Annotated[str, Meta(max_length=230)]
Draft = Annotated[str, Meta(max_length=100, description="Branch; omit for the live one")]
OwnDraft = Annotated[str, Meta(min_length=1, max_length=100)]
Cursor = Annotated[str, Meta(max_length=300, description="nextCursor of the previous page")]
Limit = Annotated[int, Meta(ge=1, le=100)]
Number = Annotated[int, Meta(ge=1, le=2**31)]
Commit = Annotated[str, Meta(pattern="^[0-9a-f]{7,64}$")]


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One change of one resource, or with a `path` of one entry in it.

    Attributes:
        body: the whole resource, of a put.
        path: keys and indexes from the root of the body.
        value: what stands at the path, of a put.
        to: the new name, of a rename: the resource's, or the key's.
        base: the digest that was read; empty where it does not matter what stood there.
    """

    op: Literal["put", "delete", "rename"]
    ref: ShortRef
    body: Annotated[
        dict[str, Any], Meta(description="put: the whole resource, as context_schema says")
    ] = {}
    path: Annotated[
        list[str | int],
        Meta(max_length=60, description="keys and indexes: change only this entry"),
    ] = []
    value: Annotated[Any, Meta(description="put with path: the new value")] = None
    to: Annotated[str, Meta(max_length=200, description="rename: new name")] = ""
    base: Annotated[
        str, Meta(max_length=64, description="digest you read; refused if it changed since")
    ] = ""


class Found(msgspec.Struct, frozen=True):
    """What is wrong, where, and how to mend it.

    Attributes:
        ref: empty for what is no resource.
        fix: the change that its hint asks for, where that is exactly one; to be sent as it is.
    """

    severity: str
    code: str
    message: str
    hint: str = ""
    ref: str = ""
    file: str = ""
    line: int = 1
    fix: Change | UnsetType = UNSET


class Resource(msgspec.Struct, frozen=True, rename="camel"):
    """A resource in a list; `digest` names what stands in its file."""

    ref: str
    digest: str
    summary: str
    file: str


class Proposed(msgspec.Struct, frozen=True):
    """A proposal in a list."""

    number: int
    title: str
    draft: str
    state: str
    author: str
    head: str
    ready: bool = True
