"""A project with one table per column type and one of books, to run the reference's examples."""

from __future__ import annotations

from typing import Any, get_args

from bbops.language.reference.functions import ROWS
from bbops.language.resources.table import ColumnType
from tests.conftest import Files
from tests.support.workbench import Bench

FILES: Files = {
    f"tables/{name}_values.yaml": (
        f"columns:\n  id: {{ type: integer, primaryKey: true }}\n  value: {{ type: {name} }}\n"
    )
    for name in get_args(ColumnType)
} | {
    "tables/authors.yaml": """
columns:
  id: { type: integer, primaryKey: true }
  name: { type: string }
""",
    "tables/books.yaml": """
columns:
  id: { type: integer, primaryKey: true }
  author_id: { type: integer, references: authors.id }
  title: { type: string }
  price: { type: integer }
""",
}  # fmt: skip
_QUERIES = {
    "authors": "table: authors, orderBy: id, select: { id: id, found: X }",
    "books": "table: books, orderBy: id, select: { id: id, found: X }",
    "values": "table: books, aggregate: { groupBy: [author_id], values: { found: X } }, "
    "orderBy: author_id",
}  # fmt: skip


def insert_rows(bench: Bench) -> None:
    """Insert the authors and books that the examples of queries read."""
    for table, rows in ROWS.items():
        for row in rows:
            marks = ", ".join("?" if bench.database == "sqlite" else f"${n + 1}"
                              for n in range(len(row)))  # fmt: skip
            names = ", ".join(row)
            bench.sql(f"INSERT INTO {table} ({names}) VALUES ({marks})", *row.values())


def select_books(bench: Bench, place: str, expression: str) -> list[Any]:
    """Return an expression of a query over the books, for each row or group."""
    query = _QUERIES[place].replace("X", f'"{expression}"')
    find, answer = f"find: {{ {query} }}", "return: { value: '${ vars.rows }' }"
    text = f"steps:\n  - {find}\n    as: rows\n  - {answer}\n"
    return [row["found"] for row in bench.run(text)]


def store_and_read(bench: Bench, of: str, value: Any, expression: str = "value") -> Any:
    """Return an expression over a column that holds `value`; of an error its status."""
    bench.sql(f"DELETE FROM {of}_values")
    text = f"""
input: {{ value: json }}
steps:
  - insert:
      table: {of}_values
      data: {{ id: 1, value: "${{ input.value }}" }}
  - find:
      table: {of}_values
      select:
        found: |-
          {expression}
    as: rows
  - return: {{ value: "${{ vars.rows }}" }}
"""
    reply = bench.ask(bench.client(text), {"value": value})
    return reply.json[0]["found"] if reply.status < 300 else reply.status
