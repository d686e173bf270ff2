"""Tests of a project that take their time."""

from __future__ import annotations


def slow_tests(count: int) -> dict[str, str]:
    """Return tests that take more than half a second each."""
    cases = "".join(f"  - name: run {at}\n    expect: {{ status: 200 }}\n" for at in range(count))
    return {"tests/slow.yaml": f"endpoint: slow\ncases:\n{cases}"}
