"""A table of five animals, and functions about it in one line each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

FAR = datetime(2100, 1, 1, tzinfo=UTC)
ITEMS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  name: { type: string, unique: true }
  size: { type: integer, nullable: true }
  price: { type: decimal, nullable: true }
  done: { type: boolean, default: false }
  created_at: { type: datetime, auto: created }
  updated_at: { type: datetime, auto: updated }
seed:
  - { id: 1, name: ant, size: 3, price: "1.50" }
  - { id: 2, name: bee, size: null, price: "10" }
  - { id: 3, name: Cat, size: 1, price: null, done: true }
  - { id: 4, name: dog, size: 3, price: "9.5" }
  - { id: 5, name: eel, size: null, price: "-2" }
"""
PAIRS = """
primaryKey: [left, right]
columns:
  left: { type: integer }
  right: { type: string }
  times: { type: integer, default: 0 }
"""
FILES = {"tables/items.yaml": ITEMS, "tables/pairs.yaml": PAIRS}


def find(more: str, head: str = "") -> str:
    """Return a function that gives what one `find` finds."""
    return stored(f"find: {{ table: items, {more} }}", head)


def stored(step: str, head: str = "") -> str:
    """Return a function that gives the result of one step."""
    return f"{head}steps:\n  - {step}\n    as: x\n  - return:\n      value: ${{ vars.x }}\n"


def steps(text: str, head: str = "") -> str:
    """Return a function of these steps; `head` declares what it is given."""
    return f"{head}steps:\n{text.strip(chr(10))}\n"


def names(rows: Any) -> list[str]:
    """Return the name of every row."""
    return [row["name"] for row in rows]
