"""A compiled SQL statement: picks its text by the switches, and orders its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

_MAX_TEXTS = 256


class Statement:
    """Renders a template (see `bbops.language.sql.dialect`) once per combination of switches."""

    __slots__ = ("sql", "switch_count", "template", "texts", "words")

    def __init__(
        self, template: Any, switch_count: int, words: tuple[str, str] = ("1", "0")
    ) -> None:
        """Args: `words` are the conditions that always and never hold."""
        self.template, self.switch_count, self.words = template, switch_count, words
        self.texts: dict[tuple[Any, ...], tuple[str, tuple[int, ...] | None]] = {}
        self.sql = "" if switch_count else self.text((), [])
        """The text of a statement that has only one."""

    def __call__(
        self, switches: tuple[Any, ...], parameters: tuple[Any, ...]
    ) -> tuple[str, Sequence[Any]]:
        """Return the SQL and its parameters. A dict look-up once a combination was seen."""
        found = self.texts.get(switches)
        if found is None:
            found = self.render(switches, len(parameters))
        sql, positions = found
        if positions is None:
            return sql, parameters
        return sql, _ordered(positions, parameters)

    def render(self, switches: tuple[Any, ...], count: int) -> tuple[str, tuple[int, ...] | None]:
        """Return the SQL of one combination and the positions of its parameters.

        No positions: all `count` of them, in the order they have.
        """
        positions: list[int] = []
        sql = self.text(switches, positions)
        found = (sql, None if positions == [*range(count)] else tuple(positions))
        if len(self.texts) < _MAX_TEXTS:
            self.texts[switches] = found
        return found

    def is_fixed(self, count: int) -> bool:
        """Return whether `sql` is its only text, and takes all `count` parameters as given."""
        return not self.switch_count and self.render((), count)[1] is None

    def samples(self) -> Iterator[str]:
        """Yield every text the statement can have, at most 64: a release prepares them all."""
        count = min(self.switch_count, 6)
        rest = (False,) * (self.switch_count - count)
        for switches in product((True, False), repeat=count):
            yield self.text((*switches, *rest), [])

    def text(self, switches: Sequence[Any], positions: list[int]) -> str:
        return _Rendering(switches, positions, self.words).render(self.template)


@dataclass(frozen=True, slots=True)
class _Rendering:
    """One text in the making: what is decided, and the positions of the parameters so far."""

    switches: Sequence[Any]
    positions: list[int]
    words: tuple[str, str]

    def render(self, part: Any) -> str:
        if isinstance(part, str):
            return part
        if isinstance(part, int):
            self.positions.append(part)
            return "?"
        kind = part[0]
        if kind == "seq":
            return "".join([self.render(item) for item in part[1:]])
        if kind == "raw":
            return self.raw(part, self.switches[part[1]])
        if kind == "if":
            return self.render(part[2] if self.switches[part[1]] else part[3])
        decided = self.condition(part)
        return decided if isinstance(decided, str) else self.words[not decided]

    def raw(self, part: Any, text: Any) -> str:
        if not isinstance(text, str):
            return str(part[2])
        if len(part) > 3:
            self.positions.append(~part[3])
        return text

    def condition(self, part: Any) -> str | bool:
        kind = part[0] if isinstance(part, tuple) else ""
        if kind == "switch":
            return bool(self.switches[part[1]])
        if kind == "not":
            inner = self.condition(part[1])
            return not inner if isinstance(inner, bool) else f"({inner} IS NOT TRUE)"
        if kind in {"and", "or"}:
            return self.joined(kind, part[1:])
        return self.render(part)

    def joined(self, kind: str, parts: Sequence[Any]) -> str | bool:
        decides = kind == "or"  # a true part decides an 'or', a false one an 'and'
        before, texts = len(self.positions), []
        for part in parts:
            found = self.condition(part)
            if found is decides:
                del self.positions[before:]
                return decides
            if isinstance(found, str):
                texts.append(found)
        if not texts:
            return not decides
        return texts[0] if len(texts) == 1 else "(" + f" {kind.upper()} ".join(texts) + ")"


def _ordered(positions: Sequence[int], parameters: Sequence[Any]) -> list[Any]:
    out: list[Any] = []
    for at in positions:
        if at < 0:
            out += parameters[~at]
        else:
            out.append(parameters[at])
    return out
