"""The steps of a function, and the effect of each in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bbops.compiler.check import CheckedProject
from bbops.language.addons._base import AddonStep
from bbops.language.steps._base import Step, find_step_kind
from bbops.language.steps.return_ import Return
from bbops.review.outline.outline import BlockOutline, StepOutline


@dataclass(frozen=True, slots=True)
class _Block:
    """A list of steps in a file; `entry` is the list item around it, such as an `elif`."""

    label: str
    entry: dict[str, Any]
    steps: list[Any]


def outline_steps(
    project: CheckedProject, steps: Sequence[Step], written: Sequence[Any]
) -> tuple[StepOutline, ...]:
    """Return steps, in order.

    Args:
        project: the project of the steps.
        steps: the steps.
        written: the same steps as the file has them.
    """
    return tuple(_outline(project, step, entry) for step, entry in zip(steps, written, strict=True))


def addon_of(step: Step) -> str:
    """Return the addon that runs a step; empty if none does."""
    if isinstance(step, AddonStep):
        return step.id.partition(".")[0]
    return (step.return_.from_ or "") if isinstance(step, Return) else ""


def _outline(project: CheckedProject, step: Step, written: dict[str, Any]) -> StepOutline:
    blocks = _match([*filter(None, step.blocks())], [*_blocks("", {}, written, step.key)])
    return StepOutline(
        key=step.key,
        title=step.name or _title(project, step),
        effect=effect_of(written.get(step.key)),
        sets=tuple(map(str, step.sets())),
        line=step.mark.line if step.mark else 1,
        addon=addon_of(step),
        blocks=tuple(
            BlockOutline(block.label, _condition(block), outline_steps(project, inner, block.steps))
            for inner, block in blocks
        ),
    )


def _title(project: CheckedProject, step: Step) -> str:
    own = project.own_actions.get(step.key)
    return own.title if own is not None and own.title else str(step.title)


def _condition(block: _Block) -> str:
    return summarize(block.entry["if"]) if "if" in block.entry else ""


def _match(
    blocks: Sequence[Sequence[Step]], written: Sequence[_Block]
) -> Iterator[tuple[Sequence[Step], _Block]]:
    """Yield each list of steps with the list of the file from which it was read."""
    left = [*written]
    for steps in blocks:
        found = next(block for block in left if _fits(steps, block.steps))
        left.remove(found)
        yield steps, found


def _fits(steps: Sequence[Step], written: Sequence[Any]) -> bool:
    return len(steps) == len(written) and all(
        isinstance(entry, dict) and step.key in entry and _is_at(step, entry)
        for step, entry in zip(steps, written, strict=True)
    )


def _is_at(step: Step, entry: Any) -> bool:
    return step.mark is None or step.mark == getattr(entry, "mark", None)


def _blocks(label: str, entry: dict[str, Any], value: Any, key: str) -> Iterator[_Block]:
    """Yield the lists below a step that may be its blocks, in the order of the file."""
    if isinstance(value, list):
        yield _Block(label or key, entry, value)
        for inner in value:
            if isinstance(inner, dict):
                for name, below in inner.items():
                    if isinstance(below, list):
                        yield _Block(label or str(name), inner, below)
    elif isinstance(value, dict):
        for name, below in value.items():
            yield from _blocks(str(name), entry, below, key)
        if label == "stream":
            yield _Block(label, entry, [value])


# ---- The effect of a step in one line: its parameters as the file has them

MAX_EFFECT: Final = 160
_PLAIN: Final = frozenset({
    "table", "where", "function", "event", "message", "url", "statement", "webhook", "realtime",
    "over", "relation", "collection", "to",
})  # fmt: skip
"""Keys whose values explain themselves."""


def effect_of(value: Any) -> str:
    """Return the parameters of a step in one line, such as `users · id == input.id`.

    Scalars are as written, maps are their keys, lists their length. Nested steps are left out.
    """
    text = " · ".join(filter(None, _parts(value)))
    return text if len(text) <= MAX_EFFECT else f"{text[: MAX_EFFECT - 1].rstrip()}…"


def _parts(value: Any) -> Iterator[str]:
    if not isinstance(value, dict):
        yield "" if has_steps(value) else summarize(value)
        return
    for key, entry in value.items():
        if has_steps(entry):
            yield "" if key == "steps" else str(key)
        elif key in _PLAIN:
            yield summarize(entry)
        else:
            yield f"{key}: {summarize(entry)}"


def summarize(value: Any) -> str:
    """Return a value in one line: a scalar as written, a map as its keys, a list as its length."""
    match value:
        case dict():
            return ", ".join(map(str, value)) or "{}"
        case list():
            return f"{len(value)} {'item' if len(value) == 1 else 'items'}"
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case _:
            return " ".join(str(value).split())[: MAX_EFFECT + 1]


def has_steps(value: Any) -> bool:
    """Return whether a value is a list of steps: of maps that are not plain data."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(entry, dict) and any(find_step_kind(str(key)) is not None for key in entry)
            for entry in value
        )
    )
