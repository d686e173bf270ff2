"""What answers in place of the world outside: the mocks of a test, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bbops.runtime.addons import AddonFailure


class Mocks:
    """The door `addons` of a test's host.

    Attributes:
        calls: the parameters of each call, by step.
        missing: calls that no mock answers; each of them fails the case, even where it is caught.
    """

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.results = results
        self.calls: dict[str, list[Any]] = {name: [] for name in results}
        self.missing: list[str] = []

    async def call(self, step: str, parameters: Mapping[str, Any]) -> Any:
        """Answer a step as its mock says.

        Raises:
            AddonFailure: it has none, or its mock is an error.
        """
        if step not in self.results:
            self.missing.append(step)
            raise AddonFailure("not-mocked", f"'{step}' is not mocked")
        self.calls[step].append(dict(parameters))
        return answer_of(step, self.results[step])


def answer_of(name: str, result: Any) -> Any:
    """Return the result of a mock.

    Raises:
        AddonFailure: it is `{ error: { status, message } }`.
    """
    if (
        isinstance(result, dict)
        and result.keys() == {"error"}
        and isinstance(result["error"], dict)
    ):
        told = result["error"]
        raise AddonFailure("mocked-error", str(told.get("message") or f"'{name}' failed"))
    return result
