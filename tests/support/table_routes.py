"""The keys of files about a table: which of them change what becomes of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

import msgspec
from pydantic import BaseModel

from bbops.base.model import plain
from bbops.interfaces.lsp.schema import fields
from bbops.language.loading.crud import parts_of
from bbops.language.loading.load import load
from bbops.language.resources._crud import ACTIONS, Actions, Crud
from bbops.source.tree import MemoryTree
from tests.conftest import ROOT

_PLACES: Final = re.compile(r"mark=\w+\([^)]*\)")
_PROJECT: Final = ROOT / "tests/golden/check/ok-crud/project"
_TABLES: Final = ("tables/notes.yaml", "tables/users.yaml", "tables/members.yaml")
_OF_ALL: Final[Mapping[str, Any]] = {
    "channel": "main", "authentication": "JWT", "roles": ["user"], "middleware": ["guard"],
    "rateLimit": 7, "timeout": "3s", "maxBody": "1MB", "history": "full",
    "docsVisibility": "hidden",
}  # fmt: skip
_OF_ONE: Final[Mapping[str, Any]] = {
    "channel": "other", "authentication": "Optional", "roles": ["admin"], "middleware": ["watch"],
    "rateLimit": 9, "timeout": "5s", "maxBody": "2MB", "history": "off",
    "docsVisibility": "visible",
}  # fmt: skip
_OWN: Final[Mapping[str, Mapping[str, Any]]] = {
    "list": {
        "filter": ["title"], "sort": ["title"], "limit": 5, "maxLimit": 50, "total": True,
        "select": ["title"], "search": True,
    },
    "get": {"select": ["title"]},
    "create": {"input": ["title"], "set": {"slug": "x"}, "idempotency": True},
    "update": {"input": ["title"], "set": {"slug": "x"}, "idempotency": True},
    "delete": {"idempotency": True},
}  # fmt: skip
_FILE: Final[dict[str, Any]] = {
    **_OF_ALL, "description": "of all", "table": "notes", "path": "/all-notes",
    "match": {"team_id": "1"}, "select": ["id"],
    "actions": {name: {"description": "of one", **_OF_ONE, **_OWN[name]} for name in ACTIONS},
}  # fmt: skip
_OTHERWISE: Final[Mapping[tuple[str, ...], Mapping[str, Any]]] = {
    ("owner",): {"owner": "author_id"},
    **{("actions", name, "function"): {"function": "own"} for name in ACTIONS},
}  # fmt: skip
"""Keys that cannot stand beside the others: what is written in their place."""


def table_route_keys() -> Iterator[tuple[type[BaseModel], str, bool]]:
    """Yield (model, key, whether it changes what becomes of a file) of each key of such files."""
    models: dict[tuple[str, ...], type[BaseModel]] = {(): Crud, ("actions",): Actions}
    models |= {("actions", name): _action(name) for name in ACTIONS}
    for path, model in models.items():
        for key in fields(model):
            at, file = (*path, key), deepcopy(_FILE)
            if not path:  # what an action says counts there
                file["actions"] = deepcopy(_OWN)
            inner = file
            for step in path:
                inner = inner[step]
            before = _made(file)
            if at in _OTHERWISE:
                if path:  # 'function' stands alone
                    inner.clear()
                else:
                    del inner["match"]
                before = _made(file)
                inner |= _OTHERWISE[at]
                yield model, key, _made(file) != before
            else:
                del inner[key]
                yield model, key, _made(file) != before


def _action(name: str) -> type[BaseModel]:
    (found,) = (
        one for one in fields(Actions)[name].annotation.__args__  # type: ignore[union-attr]
        if one is not type(None)
    )  # fmt: skip
    return found  # type: ignore[no-any-return]


def _made(file: Mapping[str, Any]) -> object:
    """Return the endpoints and functions that a file becomes; what is wrong with it, if it is."""
    files = {path: (_PROJECT / path).read_text() for path in ("project.yaml", *_TABLES)}
    files["endpoints/notes.yaml"] = msgspec.json.encode(file).decode()
    loaded = load(MemoryTree(files))
    if loaded.project is None or not loaded.project.cruds:
        return [*map(str, loaded.diagnostics)]
    tables = {name: one.model for name, one in loaded.project.tables.items()}
    parts = parts_of(loaded.project.cruds["notes"], tables)
    return [
        _PLACES.sub("", str(plain(one.model))) for part in parts
        for one in (part.endpoint, part.function) if one is not None
    ]  # fmt: skip
