"""The flow of `flows.ORDER` as a person writes it in Python, checking the same limits."""

from __future__ import annotations

from typing import Any

MAX_INTEGER, MIN_INTEGER = 2**63 - 1, -(2**63)
MAX_LIST = 100_000


class TooLarge(Exception):
    """A number of more than 64 bits, a list without end, or too many rounds."""


def times(left: Any, right: Any) -> int | float:
    """Multiply two numbers within 64 bits."""
    if type(left) not in (int, float) or type(right) not in (int, float):
        raise TypeError
    product: int | float = left * right
    if not MIN_INTEGER <= product <= MAX_INTEGER:
        raise TooLarge
    return product


async def order(run: Any) -> tuple[int, Any, Any, str | None]:
    """Answer one order."""
    body, fuel = run.input, run.fuel
    x = times(body["qty"], 2)
    if x > 10:
        return 400, {"error": "qty is too large"}, None, None
    lines: list[dict[str, Any]] = []
    for i in range(5):
        fuel[0] -= 1
        if fuel[0] <= 0 or len(lines) >= MAX_LIST:
            raise TooLarge
        lines.append({"n": i, "price": times(i, x)})
    return 201, {"id": run.params["id"], "total": x, "items": lines}, None, None
