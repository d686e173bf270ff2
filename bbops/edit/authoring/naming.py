"""Name resources on the command line: `endpoints/notes/create`, with or without `.yaml`."""

from __future__ import annotations

from typing import NamedTuple

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.language.loading.load import kinds


class Name(NamedTuple):
    """A kind's folder and a name in it."""

    folder: str
    name: str

    @property
    def file(self) -> str:
        """The path from the project's root."""
        return f"{self.folder}/{self.name}.yaml" if self.folder else "project.yaml"


def parse_name(text: str) -> Name:
    """Return the resource that a text names.

    Raises:
        BbopsError: it does not begin with the folder of a kind.
    """
    clean = text.removeprefix("./").removesuffix(".yaml").rstrip("/")
    if clean == "project":
        return Name("", "project")
    folder, _, name = clean.partition("/")
    if folder in kinds() and folder and name:
        return Name(folder, name)
    known = [f"{one}/" for one in kinds() if one]
    hint = suggest(f"{folder}/", known) or f"a name must begin with one of {', '.join(known)}"
    raise BbopsError(f"'{text}' is not a resource, expected for example 'endpoints/{name or 'x'}'",
                     hint=hint)  # fmt: skip


def folder_of(kind: str) -> str:
    """Return the folder of a kind by its own name, singular or plural.

    Raises:
        BbopsError: there is no such kind.
    """
    names = {model.__name__.lower(): folder for folder, model in kinds().items() if folder}
    known = {**names, **{folder: folder for folder in names.values()}}
    if kind.lower() not in known:
        hint = suggest(kind, known) or f"kinds are {', '.join(sorted(names))}"
        raise BbopsError(f"there is no kind '{kind}'", hint=hint)
    return known[kind.lower()]
