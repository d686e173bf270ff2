"""docs/requests.md shows what validates, and names what there is."""

from __future__ import annotations

import re

from bbops.compiler.check import validate
from bbops.runtime.http.forms import MAX_FIELDS
from bbops.runtime.http.headers import SMALL_BYTES
from bbops.runtime.http.uploads import MANY, MAX_FILES
from bbops.source.tree import MemoryTree
from tests.conftest import ROOT, sample

ORDERS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  state: { type: string, enum: [open, paid] }
  created_at: { type: datetime, auto: created }
"""
PAGE = (ROOT / "docs/requests.md").read_text()


def test_its_example_is_a_project() -> None:
    blocks = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
    assert len(blocks) == 2
    files = sample(
        tables__orders=ORDERS,
        functions__orders__create="steps:\n  - return: { value: 1 }\n",
        channels__shop_v1="name: Shop\nbasePath: /shop/v1\nauthentication: None\n",
    )
    files = {name.replace("shop_v1", "shop-v1"): one for name, one in files.items()}
    project, found = validate(MemoryTree(files | blocks))
    assert project is not None, found


def test_its_figures_are_those_that_hold() -> None:
    assert MANY == 10
    for figure in (MAX_FIELDS, SMALL_BYTES, MAX_FILES):
        assert f"{figure:,}" in PAGE
