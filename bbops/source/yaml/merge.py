"""Put other values into a file: what stays the same keeps its text, its comments and its place."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from bbops.source.yaml.document import Document
from bbops.source.yaml.document import load as load_document
from bbops.source.yaml.format import Order, write_block
from bbops.source.yaml.layout import Block, Entry, Leaf, read_layout

_INDENTED = "  "
_FORBIDDEN = "\u2028\u2029\ufeff\ufffe\uffff"

Node = Leaf | Block


class Unwritable(Exception):
    """A value that no file can hold as it is; the message says why."""


def merge(old: Document | None, new: Mapping[str, Any], order: Order | None = None) -> str:
    """Return the text of a file in our style that holds `new`.

    Args:
        old: the file as it is, whose line ends are LF and which has no problems; None for none.
        new: values of JSON.
        order: of keys.

    Raises:
        Unwritable: a text of it is not allowed in a file.
    """
    fresh = _write(new)
    root = _merge(read_layout(old), fresh) if old is not None else fresh
    text = write_block(root if isinstance(root, Block) else Block([], is_map=True), order)
    try:
        again = load_document(text.encode())
    except UnicodeEncodeError:
        raise Unwritable("it contains an unpaired surrogate") from None
    if again.problems or not _is_same(again.root, new):
        raise Unwritable(again.problems[0].message if again.problems else "a value would change")
    return text


# ---- what there was, with what is new
def _merge(old: Node, new: Node) -> Node:
    """Return the new values in the old layout, as far as they are of one form."""
    if not (isinstance(old, Block) and isinstance(new, Block)):
        return old if _key(old) == _key(new) else new
    if old.is_map != new.is_map or not old.entries or not new.entries:
        return old if _key(old) == _key(new) else new
    entries = _merge_map(old, new) if old.is_map else _merge_list(old, new)
    return Block(entries, old.is_map, old.is_flow, is_long=True, after=old.after, title=old.title)


def _merge_map(old: Block, new: Block) -> list[Entry]:
    wanted = {_name(one): one for one in new.entries}
    renamed = _find_renamed(old, new)
    pairs = ((one, wanted.pop(renamed.get(_name(one), _name(one)), None)) for one in old.entries)
    kept = [_merge_entry(one, other) for one, other in pairs if other is not None]
    return [*kept, *wanted.values()]


def _find_renamed(old: Block, new: Block) -> dict[str, str]:
    """Return the new name of a key that alone has gone, where its value stands under another."""
    was, now = ({_name(one): one.value for one in block.entries} for block in (old, new))
    gone, came = [*(was.keys() - now.keys())], [*(now.keys() - was.keys())]
    if len(gone) == len(came) == 1 and _key(was[gone[0]]) == _key(now[came[0]]):
        return {gone[0]: came[0]}
    return {}


def _merge_list(old: Block, new: Block) -> list[Entry]:
    was, now = [_key(one.value) for one in old.entries], [_key(one.value) for one in new.entries]
    found = list[Entry]()
    for tag, begin, end, at, until in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        before, after = old.entries[begin:end], new.entries[at:until]
        if tag == "equal":
            found += before
            continue
        paired = [_merge_entry(one, other) for one, other in zip(before, after, strict=False)]
        found += [*paired, *after[len(paired) :]]
    return found


def _merge_entry(old: Entry, new: Entry) -> Entry:
    value = _merge(old.value, new.value)
    is_of_one_form = isinstance(old.value, Block) is isinstance(value, Block)
    head, tail = (old.head, old.tail) if is_of_one_form else ("", "")
    key = old.key if _name(old) == _name(new) else new.key
    return Entry(key, value, old.before, head, tail)


def _name(entry: Entry) -> str:
    return str(entry.key.value) if entry.key else ""


def _key(node: Node) -> str:
    """Return what is the same for two nodes of the same value, in the same order."""
    return json.dumps(_value(node), ensure_ascii=True)


def _value(node: Node) -> Any:
    if isinstance(node, Leaf):
        return str(node.value) if isinstance(node.value, str) else node.value
    if node.is_map:
        return {_name(one): _value(one.value) for one in node.entries}
    return [_value(one.value) for one in node.entries]


# ---- what is new
def _write(value: Any) -> Node:
    if isinstance(value, Mapping):
        entries = [Entry(_text(str(key)), _write(one)) for key, one in value.items()]
        is_flow = not any(isinstance(one, Mapping | Sequence) and not isinstance(one, str) and one
                          for one in value.values())  # fmt: skip
        return Block(entries, is_map=True, is_flow=is_flow, is_long=True)
    if isinstance(value, Sequence) and not isinstance(value, str):
        entries = [Entry(None, _write(one)) for one in value]
        is_flow = not any(isinstance(one, Mapping | list) for one in value)
        return Block(entries, is_map=False, is_flow=is_flow, is_long=True)
    return _text(value) if isinstance(value, str) else Leaf(value, json.dumps(value), "")


def _text(text: str) -> Leaf:
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > 1 and all(map(_is_readable, lines)) and lines[-1] and lines[0].strip():
        sign = "|" if text.endswith("\n") else "|-"
        indented = (f"{_INDENTED}{line}" if line else "" for line in lines)
        return Leaf(text, "\n".join([sign, *indented]), "|")
    return Leaf(text, "".join(['"', *map(_escaped, text), '"']), '"')


def _is_readable(line: str) -> bool:
    """Return whether a line may stand in a block scalar, where nothing is escaped."""
    is_plain = line.isprintable() and line == line.rstrip()
    return (is_plain and not line.startswith(" ")) or (is_plain and bool(line.strip()))


def _escaped(sign: str) -> str:
    if sign in {'"', "\\"}:
        return f"\\{sign}"
    if sign.isprintable() and sign not in _FORBIDDEN:
        return sign
    number = ord(sign)
    return (
        f"\\x{number:02x}"
        if number < 256
        else f"\\u{number:04x}"
        if number < 65_536
        else (f"\\U{number:08x}")
    )


def _is_same(read: Any, given: Any) -> bool:
    if isinstance(given, Mapping):
        return isinstance(read, dict) and read.keys() == given.keys() and all(
            _is_same(read[key], one) for key, one in given.items()
        )  # fmt: skip
    if isinstance(given, list | tuple):
        pairs = zip(read, given, strict=False) if isinstance(read, list) else ()
        return isinstance(read, list) and len(read) == len(given) and all(
            _is_same(one, other) for one, other in pairs
        )  # fmt: skip
    if isinstance(given, str):
        return isinstance(read, str) and read == given
    return type(read) is type(given) and read == given
