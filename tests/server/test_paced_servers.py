"""Two servers of two processes each, on one PostgreSQL, ask a vendor that takes three a second."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import PostgresPlace
from bbops.source.git import store
from tests.support.postgres import control_of
from tests.support.served import Served
from tests.vendors.scenarios.workspace_docs import PAGE
from tests.vendors.stand_in import Answer, StandIn

pytestmark = pytest.mark.long

RATE, REQUESTS, AT_ONCE, PAUSE_SECONDS = 3.0, 48, 8, 3
UNDER_WAY = 4
"""A process that was late brings what had its turn before: one each."""
FILES = {
    "project.yaml": "bbops: 1\nname: shop\nenv: { DOCS_TOKEN: { secret: true } }\n",
    "functions/note.yaml": "steps:\n"
    "  - workspaceDocs.updatePage: { pageId: p1, properties: {} }\n    as: page\n"
    "  - return: { value: '${ vars.page.id }' }\n",
    "endpoints/note.yaml": "method: POST\npath: /note\nfunction: note\nauthentication: None\n",
}


class Paced(StandIn):
    """Notes when it is asked, and once, in the middle, asks to be left alone."""

    def __init__(self) -> None:
        page = Answer(body=PAGE | {"in_trash": False})
        pause = Answer(429, {"code": "rate_limited"}, {"retry-after": str(PAUSE_SECONDS)})
        super().__init__(*[page] * (REQUESTS // 2), pause, page)
        self.times = list[float]()
        self.refused_at = 0.0

    def next(self) -> Answer:
        self.times.append(time.monotonic())
        answer = super().next()
        if answer.status == 429:
            self.refused_at = self.times[-1]
        return answer


@pytest.fixture
def servers(schema: PostgresPlace, tmp_path: Path) -> Iterator[tuple[Paced, list[Served]]]:
    """Start both, each with a clone and a state of its own."""
    with Paced() as vendor, ExitStack() as running:
        config = f"  integrationToken: ${{ env.DOCS_TOKEN }}\n  endpoint: {vendor.url}\n"
        files = FILES | {"addons/workspaceDocs.yaml": f"enabled: true\nconfig:\n{config}"}
        every = {path: text.encode() for path, text in files.items()}
        store.init(tmp_path / "shop", every, message="Start")
        (tmp_path / "settings.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
        given = ["--schema", schema.schema, "--settings", str(tmp_path / "settings.yaml")]
        env = {"DATABASE_URL": schema.url, "DOCS_TOKEN": "secret"}
        found = []
        for name in ("one", "two"):
            shutil.copytree(tmp_path / "shop", tmp_path / name)
            home = tmp_path / f"{name}-home"
            served = Served(tmp_path / name, home, *given, "--workers", "2", env=env)
            found.append(running.enter_context(served))
            found[-1].live()
        yield vendor, found
    drop_schema(control_of(schema))


def test_a_vendor_is_never_asked_more_often_and_left_alone_when_it_says_so(
    servers: tuple[Paced, list[Served]],
) -> None:
    vendor, both = servers
    with ThreadPoolExecutor(AT_ONCE) as clients:
        asked = (both[at % 2] for at in range(REQUESTS))
        answers = [*clients.map(lambda one: one.api.post("/note").status_code, asked)]
    # a request that writes is not sent again by itself: the one that was refused has failed
    assert sorted(answers) == [*[200] * (REQUESTS - 1), 500]
    times = vendor.times
    assert len(times) == REQUESTS
    for first in range(len(times)):
        for last in range(first + 1, len(times)):
            assert last - first <= RATE * (times[last] - times[first]) + UNDER_WAY
    late = [at for at in times if vendor.refused_at < at < vendor.refused_at + PAUSE_SECONDS]
    assert len(late) <= UNDER_WAY
