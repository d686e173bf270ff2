"""What another version of a step means for the functions that use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Effect = Literal["breaks", "widens", "look"]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: it breaks functions, offers them more, or needs a look."""

    effect: Effect
    text: str


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Return what changes for functions between two versions of a step's file."""
    found = [*_parameters(old.get("parameters") or {}, new.get("parameters") or {})]
    found += _results(old.get("gives"), new.get("gives"))
    if (old.get("request"), old.get("in")) != (new.get("request"), new.get("in")):
        found.append(Change("look", "what is sent is another request"))
    return found


def _parameters(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    before = {name.rstrip("?"): (name.endswith("?"), one) for name, one in old.items()}
    after = {name.rstrip("?"): (name.endswith("?"), one) for name, one in new.items()}
    for name, (may_lack, kind) in after.items():
        if name not in before:
            effect: Effect = "widens" if may_lack else "breaks"
            yield Change(effect, f"parameter '{name}' is new{'' if may_lack else ', and needed'}")
            continue
        could_lack, was = before[name]
        if could_lack and not may_lack:
            yield Change("breaks", f"parameter '{name}' is needed now")
        if was != kind:
            yield Change("look", f"parameter '{name}' is {_word(kind)}, was {_word(was)}")
    for name in before:
        if name not in after:
            yield Change("breaks", f"parameter '{name}' is gone")


def _results(old: Any, new: Any, path: str = "") -> Iterator[Change]:
    if old == new:
        return
    was, now = _fields(old), _fields(new)
    if was is None or now is None:
        where = f"'{path}' of the result" if path else "the result"
        effect: Effect = "look" if _is_open(old) and not path else "breaks"
        yield Change(effect, f"{where} is {_word(new)}, was {_word(old)}")
        return
    for name, (could_lack, kind) in was.items():
        inner = f"{path}.{name}".lstrip(".")
        if name not in now:
            yield Change("breaks", f"'{inner}' of the result is gone")
            continue
        may_lack, other = now[name]
        if may_lack and not could_lack:
            yield Change("breaks", f"'{inner}' of the result may be missing now")
        yield from _results(kind, other, inner)
    for name in now:
        if name not in was:
            yield Change("widens", f"'{f'{path}.{name}'.lstrip('.')}' of the result is new")
    if _word(old) != _word(new):
        yield Change("breaks", f"'{path or 'the result'}' is {_word(new)}, was {_word(old)}")


def _fields(field: Any) -> dict[str, tuple[bool, Any]] | None:
    if isinstance(field, Mapping) and "items" in field and isinstance(field["items"], Mapping):
        field = field["items"]
    listed = field.get("fields") if isinstance(field, Mapping) else None
    if not isinstance(listed, Mapping):
        return None
    return {name.rstrip("?"): (name.endswith("?"), one) for name, one in listed.items()}


def _is_open(field: Any) -> bool:
    return field is None or field == "json"


def _word(field: Any) -> str:
    """Return a field in a word."""
    if field is None:
        return "json"
    if isinstance(field, str):
        return field
    if "enum" in field:
        return f"{field['type']} of {len(field['enum'])} options"
    kind = str(field.get("type", "object"))
    rules = [f"{name} {field[name]}" for name in field if name not in {"type", "fields", "items"}]
    return ", ".join([kind, *rules])
