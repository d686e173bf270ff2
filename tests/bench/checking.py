"""How long it takes to check the types of functions that are read already, in CPU time."""

from __future__ import annotations

import gc
from statistics import median
from time import process_time

from bbops.compiler.check import check
from bbops.language.loading.load import LoadCache, load
from bbops.source.tree import MemoryTree
from tests.bench.figures import Figure
from tests.bench.project import ITEMS, endpoint

FUNCTION = """
input:
  title: { type: string, minLength: 1, maxLength: 120 }
  parentId?: integer?
query:
  search?: string
  page?: { type: integer, minimum: 1, default: 1 }
steps:
  - find:
      table: items
      where: query.search == null or (title | contains(query.search))
      orderBy: title.asc
      limit: 20
      offset: ${ (query.page - 1) * 20 }
    as: items
  - find: { table: items, where: id == input.parentId, one: true }
    as: parent
  - if: input.parentId != null and vars.parent == null
    then:
      - throw: { status: 422, message: 'no parent ${ input.parentId | default(0) }' }
  - loop:
      over: vars.items
      each: item
      where: vars.item.done
      collect: ${ vars.item.title | upper }
    as: titles
  - insert:
      table: items
      data:
        owner: nobody
        title: ${ input.title | trim }
        quantity: ${ vars.parent?.quantity | default(1) }
    as: made
  - call: { function: double, input: { number: '${ vars.made.quantity }' } }
    as: twice
  - return:
      status: 201
      value:
        item: ${ vars.made }
        titles: ${ vars.titles | join(', ') }
        first: ${ (vars.items | first)?.title | default('none') }
        twice: ${ vars.twice }
"""
DOUBLE = "input: { number: integer }\nsteps:\n  - return: { value: '${ input.number * 2 }' }\n"


def project(functions: int) -> dict[str, str]:
    """Return a project of so many functions of eight steps, each with its endpoint."""
    files = {
        "project.yaml": "bbops: 1\nname: checked\n",
        "tables/items.yaml": ITEMS,
        "functions/double.yaml": DOUBLE,
    }
    for at in range(functions):
        files[f"functions/f{at}.yaml"] = f"{FUNCTION}# {at}\n"
        files[f"endpoints/f{at}.yaml"] = endpoint("POST", f"/f{at}", f"f{at}")
    return files


def measure(*, functions: int, rounds: int) -> list[Figure]:
    """Check a project whose files are read already, again and again."""
    tree, cache = MemoryTree(project(functions)), LoadCache()
    _, *found = [_check(tree, cache) for _ in range(rounds + 1)]  # the first one imports
    return [Figure(f"checking the types of {functions:,} functions", median(found), "s", 1.0)]


def _check(tree: MemoryTree, cache: LoadCache) -> float:
    loaded = load(tree, cache)
    assert loaded.project is not None
    gc.collect()
    before = process_time()
    findings = check(loaded.project)
    took = process_time() - before
    assert not findings
    return took
