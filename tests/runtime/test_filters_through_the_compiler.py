"""Every filter and function: its example, as the docs show it, gives its result when compiled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bbops.runtime.values.filters import FILTERS, FUNCTIONS
from tests.support.workbench import Bench

EXAMPLES = [(name, one.example) for name, one in FILTERS.items()]
EXAMPLES += [(name, one.example) for name, one in FUNCTIONS.items()]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("bench"), {}) as found:
        yield found


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_the_example_gives_its_result(name: str, example: tuple[str, object], bench: Bench) -> None:
    expression, result = example
    assert name in expression
    text = f"steps:\n  - return:\n      value: |-\n        ${{ {expression} }}\n"
    assert bench.run(text) == result


@pytest.mark.parametrize("name", [name for name, one in FILTERS.items() if not one.accepts_null])
def test_null_in_is_an_error(name: str, bench: Bench) -> None:
    needs_arrow, least = FILTERS[name].arrows, FILTERS[name].least
    arguments = ", ".join("one => one" if needs_arrow.get(at) else "input.y" for at in range(least))
    value = f"value: ${{ input.x | {name}({arguments}) }}"
    text = f"input: {{ x: json?, y: json }}\nsteps:\n  - return:\n      {value}\n"
    assert bench.ask(bench.client(text), {"x": None, "y": "1"}).status == 400
