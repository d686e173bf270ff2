"""What compiled code calls where a function uses a step of an addon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bbops.runtime.failures import Failure
from bbops.runtime.fields import Spec
from bbops.runtime.flow import Run
from bbops.runtime.shapes import compile_shape

Read = Callable[[Any], Any]


class AddonFailure(Failure):
    """An addon cannot do its step; `code` says why, the client sees a 500."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


async def call_addon(run: Run, step: str, parameters: Mapping[str, Any], read: Read) -> Any:
    """Let an addon do its step. A host that has the door `addons` (a test's) answers instead.

    Raises:
        AddonFailure: `addon-disabled`; `addon-not-built` in a version that knows the step's form
            but cannot do it yet; `addon-answer` where the result has not the type it should.
    """
    door = run.host.addons
    if door is not None:
        return read(await door.call(step, parameters))
    addon = step.partition(".")[0]
    if not run.addons.get(addon, False):
        raise AddonFailure("addon-disabled", f"addon '{addon}' is not enabled in this project")
    raise AddonFailure("addon-not-built", f"this version cannot do '{step}' yet")


def make_reader(step: str, spec: Spec) -> Read:
    """Return what makes the answer of a step a value of its type: compiled code relies on it.

    Args:
        spec: the field spec of the result, see `bbops.runtime.shapes`.
    """
    check = compile_shape({"result": spec})

    def read(answer: Any) -> Any:
        errors: dict[str, list[str]] = {}
        typed = check({"result": answer}, "", errors)
        for path, texts in errors.items():
            message = f"'{step}' gave something else than it should: {path} {texts[0]}"
            raise AddonFailure("addon-answer", message)
        return typed.get("result")

    return read
