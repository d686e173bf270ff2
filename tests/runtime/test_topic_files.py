"""Middleware of a topic makes files as an endpoint does; they are gone once it has decided."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import Any, cast

import msgspec

from bbops.base.host import HttpResponse
from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import FakeHttp, KeptFiles, KeptFolder, fake_host
from bbops.runtime.linking.release import link
from bbops.runtime.realtime.linking import Identity, Judge, link_topics
from bbops.source.tree import MemoryTree
from tests.conftest import ENV, sample

PICTURE = b"a picture"
DRAW = """
steps:
  - aiModel.generateImage: { model: large, prompt: A cat, outputPath: cat.png }
    as: picture
  - localStorage.saveFile: { path: cat.png, content: "${ vars.picture }" }
"""
MODEL = "enabled: true\nconfig: { apiKey: '${ env.JWT_SECRET }' }\n"


class Painter(FakeHttp):
    """A model that draws."""

    async def send(self, request: Any) -> HttpResponse:
        drawn = {"created": 1, "data": [{"b64_json": b64encode(PICTURE).decode()}]}
        return HttpResponse(200, {"content-type": "application/json"}, msgspec.json.encode(drawn))


class OpenedFiles(KeptFiles):
    """Folders of runs that remember whether they were removed."""

    def __init__(self) -> None:
        self.opened: list[KeptFolder] = []

    def open(self) -> KeptFolder:
        self.opened.append(super().open())
        return self.opened[-1]


def test_middleware_of_a_topic_makes_files_and_they_are_removed() -> None:
    files = sample(
        functions__draw=DRAW,
        addons__aiModel=MODEL,
        addons__localStorage="enabled: true\n",
        realtime__cats=(
            "topic: cats\nauthentication: None\nmiddleware: [draw]\n"
            "events:\n  said: { text: string }\n"
        ),
    )
    tree, opened = MemoryTree(files), OpenedFiles()
    built = build(tree, base=tree)
    assert built.project is not None, [*map(str, built.diagnostics)]
    host = fake_host(cast("Any", None), http=Painter(), files=opened)
    release = link(built.artifact, name="cats", host=host, env=ENV)
    found = link_topics(built.artifact, release).find("cats")
    assert found is not None
    scope = {"type": "websocket", "headers": [], "path": "/", "query_string": b"", "client": None}
    judge = Judge(release.answering, release.active_requests)
    verdict = asyncio.run(judge.judge(*found, Identity(scope)))
    assert verdict.may_subscribe
    assert cast("Any", host.storage).files == {("storage", "cat.png"): PICTURE}
    (folder,) = opened.opened
    assert asyncio.run(folder.size("cat.png")) is None
