"""Write a scalar as it stands in a file, with quotes only where a reader needs them."""

from __future__ import annotations

import json
import re

from bbops.source.yaml.directions import TURNING
from bbops.source.yaml.layout import Leaf
from bbops.source.yaml.scalars import resolve

# Signs that mean something at the start of a scalar; `-` and `?` only before a blank, but a text
# that begins with them is easier to read in quotes.
_ODD = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff" + TURNING
_ODDITY = re.compile(f"[{_ODD}]")
_PLAIN = re.compile(rf"[^\s\-?:,\[\]{{}}#&*!|>'\"%@`=<~{_ODD}][^{_ODD}]*")
_NEEDS_QUOTES = re.compile(r":(?:\s|$)|\s#|\s$|^\.\.\.")
# Inside of brackets a brace or comma ends a plain text; some readers take `:` and `?` for more.
_IN_BRACKETS = re.compile(r"[^,\[\]{}:?#\"]*")
# What readers of YAML 1.1 take for something else than text.
_OTHER_WORDS = {"", "y", "n", "yes", "no", "on", "off", "null", "true", "false"}
_LIKE_A_NUMBER = re.compile(
    r"[-+.]?[0-9][-+._:0-9]*(?:[eE][-+]?[0-9]+)?|[-+]?0[xob][0-9a-fA-F_]*|[0-9-]{8,10}[Tt ].*"
)
_HEADER = re.compile(r"([|>])([-+]?)[1-9]?([-+]?)(.*)")


_ENDS_IN_BLANKS = re.compile(r"\n[ \t]+\n*\Z")  # a last line that nobody would see in a block


def write_key(key: Leaf, *, in_brackets: bool = False) -> str:
    """Return a key."""
    return write_inline(key) if in_brackets else _one_line(key, in_brackets=False)


def write_inline(leaf: Leaf) -> str:
    """Return a scalar inside of brackets: always one line."""
    return _one_line(leaf, in_brackets=True)


def write_lines(leaf: Leaf, indent: int) -> str:
    """Return a scalar behind a key or dash at `indent`; its other lines are indented by two more.

    How the author broke a long text into lines stays.
    """
    if leaf.style in ("|", ">"):
        return _block_scalar(leaf, indent + 2)
    if "\n" not in leaf.raw:
        return _one_line(leaf, in_brackets=False)
    pad = " " * (indent + 2)
    first, *others = (line.strip() for line in leaf.raw.split("\n"))
    return "\n".join([first, *(pad + line if line else "" for line in others)])


def _one_line(leaf: Leaf, *, in_brackets: bool) -> str:
    if leaf.style == "":
        text = leaf.raw if "\n" not in leaf.raw else str(leaf.value)
        if not text:
            return "null" if in_brackets else ""
        return text if "\n" not in text else json.dumps(text, ensure_ascii=False)
    text = str(leaf.value)
    if may_be_plain(text, in_brackets=in_brackets):
        return text
    return quoted(text) if "\n" in leaf.raw or text.isprintable() else leaf.raw


def quoted(text: str) -> str:
    """Return a text in quotes: double ones, unless that would take an escape that `'` saves."""
    if text.isprintable() and ('"' in text or "\\" in text):
        return "'" + text.replace("'", "''") + "'"
    return _ODDITY.sub(_escaped, json.dumps(text, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def may_be_plain(text: str, *, in_brackets: bool = False) -> bool:
    """Return whether every reader of YAML, of 1.1 too, takes the unquoted text for this text."""
    if not _PLAIN.fullmatch(text) or _NEEDS_QUOTES.search(text):
        return False
    if in_brackets and not _IN_BRACKETS.fullmatch(text):
        return False
    if text.lower() in _OTHER_WORDS or _LIKE_A_NUMBER.fullmatch(text):
        return False
    return isinstance(resolve(text), str)


def _block_scalar(leaf: Leaf, indent: int) -> str:
    header, *lines = leaf.raw.split("\n")
    found = _HEADER.fullmatch(header)
    if found is None:
        return leaf.raw
    if _ENDS_IN_BLANKS.search(str(leaf.value)):
        return json.dumps(str(leaf.value), ensure_ascii=False)
    sign, chomping, other, comment = found.groups()
    if lines and not lines[-1]:
        lines.pop()
    while lines and not lines[-1].strip() and "+" not in chomping + other:
        lines.pop()
    if lines and not str(leaf.value).endswith("\n"):  # the file ended without a line end
        chomping, other = "-", ""
    first = next((line for line in lines if line.strip()), "")
    old = leaf.indent or len(first) - len(first.lstrip(" "))
    digit = "2" if leaf.indent else ""
    cut = (line[old:] for line in lines)
    text = "\n".join(" " * indent + line if line else "" for line in cut)
    return f"{sign}{digit}{chomping}{other}{comment.rstrip()}" + (f"\n{text}" if lines else "")
