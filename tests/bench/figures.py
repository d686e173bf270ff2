"""One measured number, and what it should be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """`most` is the target: not more than that. Without one the number is only told."""

    name: str
    value: float
    unit: str
    most: float | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.most is None else self.value <= self.most
