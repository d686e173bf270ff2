"""What compiled code calls where a function uses a step of an addon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bbops.base.doors import Folder, Pieces
from bbops.runtime.flow.run import Run, SentStream
from bbops.runtime.values.fields import Spec
from bbops.runtime.values.shapes import compile_shape
from bbops.runtime.vendors._work import Addon, AddonFailure, Terms, Work

Read = Callable[[Any], Any]

__all__ = ["Addon", "AddonFailure", "Terms", "begin_stream", "call_addon", "make_reader"]


async def call_addon(
    run: Run, step: str, parameters: Mapping[str, Any], read: Read, folder: Folder | None,
    terms: Terms, key: str,
) -> Any:  # fmt: skip
    """Let an addon do its step. A host that has the door `addons` (a test's) answers instead.

    Args:
        folder: of the run's files, for the steps that take or make some.
        terms: on which the vendor is asked.
        key: the same for each attempt, where the vendor takes one.

    Raises:
        AddonFailure: `addon-disabled`; `addon-changed` if the server has changed its tool;
            `addon-answer` if the result has another type.
    """
    door = run.host.addons
    if door is not None and door.takes(step):
        return await _accepted(run, read(await door.call(step, parameters)))
    addon, action = _find(run, step)
    given = {
        key: value for key, value in parameters.items() if value is not None or addon.keeps_null
    }
    name = step.partition(".")[0]
    work = Work(name, run.host, addon.config, folder, terms, key, addon.kept, addon.hidden)
    return await _accepted(run, read(await addon.steps[action](work, given)))


async def _accepted(run: Run, result: Any) -> Any:
    """Return the result of a step; a job records the answers that it was made of."""
    if run.host.record is not None:
        await run.host.record.accept()
    return result


async def begin_stream(
    run: Run, step: str, parameters: Mapping[str, Any], read: Read, terms: Terms, line: str
) -> SentStream:  # fmt: skip
    """Return an answer of the step's pieces; see `call_addon`.

    Args:
        line: where the step stands, for what goes wrong with a piece.
    """
    door = run.host.addons
    if door is not None and door.takes(step):
        return _sent(run, await door.stream(step, parameters), read, line)
    addon, action = _find(run, step)
    given = {key: value for key, value in parameters.items() if value is not None}
    name = step.partition(".")[0]
    work = Work(name, run.host, addon.config, None, terms, hidden=addon.hidden)
    return _sent(run, await addon.streams[action](work, given), read, line)


def _sent(run: Run, pieces: Pieces, read: Read, line: str) -> SentStream:
    stream = SentStream(pieces, read, line)
    if run.trace is not None:
        run.trace.streams = (*run.trace.streams, stream)  # closed with the request, come what may
    return stream


def _find(run: Run, step: str) -> tuple[Addon, str]:
    name, _, action = step.partition(".")
    addon = run.addons.get(name)
    if addon is None:
        raise AddonFailure("addon-disabled", f"addon '{name}' is not enabled in this project")
    return addon, action


def make_reader(step: str, spec: Spec) -> Read:
    """Return what makes the answer of a step a value of its type: compiled code relies on it.

    Args:
        spec: the field spec of the result, see `bbops.runtime.values.shapes`.
    """
    check = compile_shape({"result": spec})

    def read(answer: Any) -> Any:
        errors: dict[str, list[str]] = {}
        typed = check({"result": answer}, "", errors)
        for path, texts in errors.items():
            message = f"'{step}' returned an unexpected value: {path} {texts[0]}"
            raise AddonFailure("addon-answer", message)
        return typed.get("result")

    return read
