"""Format the files of a project, each in the order its kind of resource has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from bbops.base.diagnostics import Diagnostic, Place
from bbops.base.errors import BbopsError
from bbops.edit.authoring.order import order_of
from bbops.language.loading.load import kinds, model_of
from bbops.source.yaml.format import AsWritten, ChangedMeaning, Order, format_document, read_source


@dataclass(frozen=True, slots=True)
class Formatted:
    """A file in our style, or why there is none; `text` is empty then."""

    text: str
    diagnostics: tuple[Diagnostic, ...] = ()


def is_resource(path: str) -> bool:
    """Return whether a path from the project's root is one of a resource."""
    parts = PurePosixPath(path).parts
    return path == "project.yaml" or (
        path.endswith(".yaml") and len(parts) > 1 and parts[0] in {*kinds(), "tests"}
    )


def format_file(path: str, data: bytes) -> Formatted:
    """Return the text of a file in our style. `path` is the one from the project's root.

    Raises:
        BbopsError: the result would not mean the same, which is a mistake of ours.
    """
    document = read_source(data)
    if document.problems:
        return Formatted("", tuple(
            Diagnostic(Place(path, one.line, one.column), one.code, one.message, one.hint)
            for one in document.problems
        ))  # fmt: skip
    if not isinstance(document.root, dict):
        return Formatted("", (Diagnostic(Place(path), "not-a-map", "a resource is a map of keys"),))
    try:
        return Formatted(format_document(document, order_in(path, document.root)))
    except ChangedMeaning as error:
        message = f"'{path}' cannot be formatted: {error}"
        raise BbopsError(message, hint="this is a bug in bbops; the file stays as it is") from error


def order_in(path: str, root: object = None) -> Order:
    """Return the order of keys in a file, by what is in it; `path` is from the project's root."""
    top = PurePosixPath(path).parts[0]
    if path == "project.yaml":
        return order_of(kinds()[""])
    if top not in kinds():
        return AsWritten()
    name = path.removeprefix(f"{top}/").removesuffix(".yaml")
    return order_of(model_of(top, name, root))
