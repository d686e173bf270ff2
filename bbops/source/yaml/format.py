"""Write a file in the one style of this language: comments stay, and every value stays.

Two blanks for each level, quotes only where they are needed, at most one blank line, keys in the
order a reader expects. What is written in brackets on one line stays so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from bbops.source.yaml.document import Document, load
from bbops.source.yaml.layout import (
    BLANK,
    Block,
    Entry,
    Leaf,
    comments_of,
    read_layout,
    write_inline,
    write_key,
    write_lines,
)

WIDTH = 100
"""A list or map in brackets that is longer, and was not on one line, is written in lines."""

_STEP = 2


class Order(Protocol):
    """In which order the keys of a map are written. The order of lists never changes."""

    def sorted(self, keys: Sequence[str]) -> Sequence[str]:
        """Return the same keys, in the order to write them."""
        ...

    def inside(self, key: str | None, keys: Sequence[str]) -> Order:
        """Return the order below a key, or of a list's items; `keys` are those of the item."""
        ...


class AsWritten:
    """Leaves every map as it is."""

    def sorted(self, keys: Sequence[str]) -> Sequence[str]:
        """Return the keys."""
        return keys

    def inside(self, key: str | None, keys: Sequence[str]) -> Order:
        """Return the same again."""
        del key, keys
        return self


class ChangedMeaning(Exception):
    """The formatted text would not mean the same: a mistake of ours, so nothing is written."""


def read_source(data: bytes) -> Document:
    """Read a file for formatting: line ends become LF."""
    return load(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


def format_document(document: Document, order: Order | None = None) -> str:
    """Return a file in our style. Its root is a map, and it has no problems.

    Raises:
        ChangedMeaning: values or comments would not all be there.
    """
    text = write_block(read_layout(document), order)
    again = load(text.encode())
    if again.problems or not _equal(again.root, document.root):
        raise ChangedMeaning("a value would change")
    if sorted(comments_of(again)) != sorted(comments_of(document)):
        raise ChangedMeaning("a comment would be lost")
    return text


def write_block(root: Block, order: Order | None = None) -> str:
    """Return the text of a layout whose root is a map; the layout is sorted on the way."""
    _keep_title(root)
    _sort(root, order or AsWritten())
    while root.after and not root.after[-1]:
        root.after.pop()
    return "\n".join(_block(root, 0)).lstrip("\n") + "\n"


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(_equal(one, other) for one, other in pairs)
    return type(left) is type(right) and repr(left) == repr(right)  # repr: NaN equals itself


# ---- order
def _keep_title(root: Block) -> None:
    """Keep the comment at the top of a file there, if a blank line divides it from the rest."""
    before = root.entries[0].before if root.entries else []
    if BLANK in before:
        last = len(before) - 1 - before[::-1].index(BLANK)
        root.title, root.entries[0].before = before[: last + 1], before[last + 1 :]


def _sort(block: Block, order: Order) -> None:
    if block.is_map:
        names = [str(entry.key.value) for entry in block.entries if entry.key]
        places = {name: place for place, name in enumerate(order.sorted(names))}
        block.entries.sort(key=lambda entry: places[str(entry.key.value)] if entry.key else 0)
    for entry in block.entries:
        if isinstance(entry.value, Block):
            name = str(entry.key.value) if entry.key else None
            keys = [str(one.key.value) for one in entry.value.entries if one.key]
            _sort(entry.value, order.inside(name, keys))


# ---- lines
def _block(block: Block, indent: int) -> list[str]:
    lines = _remarks(block.title, indent)
    for entry in block.entries:
        before = _remarks(entry.before, indent)
        lines += before[1:] if not lines and before[:1] == [BLANK] else before
        lines += _entry(entry, indent)
    return lines + _remarks(block.after, indent)


def _remarks(texts: Sequence[str], indent: int) -> list[str]:
    """Return comment lines; of blank lines at most one in a row."""
    found = list[str]()
    for text in texts:
        if text or not found or found[-1]:
            found.append(" " * indent + text if text else BLANK)
    return found


def _entry(entry: Entry, indent: int) -> list[str]:
    start = " " * indent + ("-" if entry.key is None else f"{write_key(entry.key)}:")
    value = entry.value
    if isinstance(value, Leaf) or _fits(value, len(start) + 1):
        written = _in_brackets(value) if isinstance(value, Block) else write_lines(value, indent)
        return [(f"{start} {written}" if written else start) + entry.tail]
    head = entry.head or entry.tail
    if entry.head and entry.tail:
        value.after.append(entry.tail.strip())
    lines = _block(value, indent + _STEP)
    if entry.key is not None:
        return [start + head, *lines]
    above = [head.strip()] if head else []
    while lines[0].lstrip().startswith("#") or not lines[0]:
        above.append(lines.pop(0).strip())
    first, *others = lines
    return [*_remarks(above, indent), f"{start} {first.lstrip()}", *others]


def _fits(block: Block, column: int) -> bool:
    """Return whether a map or list is written in brackets: it is, and is short enough."""
    if not block.entries and not block.after:
        return True
    if not block.is_flow or _has_comments(block):
        return False
    return not block.is_long or column + len(_in_brackets(block)) <= WIDTH


def _has_comments(block: Block) -> bool:
    return any(block.after) or any(
        any(entry.before) or entry.head or entry.tail
        or (isinstance(entry.value, Block) and _has_comments(entry.value))
        for entry in block.entries
    )  # fmt: skip


def _in_brackets(value: Leaf | Block) -> str:
    if isinstance(value, Leaf):
        return write_inline(value)
    items = ", ".join(
        f"{write_key(entry.key, in_brackets=True)}: {_in_brackets(entry.value)}"
        if entry.key else _in_brackets(entry.value)
        for entry in value.entries
    )  # fmt: skip
    if value.is_map:
        return f"{{ {items} }}" if items else "{}"
    return f"[{items}]"
