"""Files of jobs: made again in each attempt, also in functions that are called."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bbops.base.host import HttpResponse
from bbops.compiler.testing.host import FakeHttp, KeptFiles, KeptFolder
from bbops.runtime.values.failures import Failure
from tests.support.work_shop import Shop, run

FULFIL = """
payload: { number: integer }
steps:
  - call: { function: draw, input: { prompt: A cat } }
    as: picture
  - http: { method: POST, url: https://shop.example.com/ }
  - localStorage.saveFile: { path: pictures/cat.png, content: "${ vars.picture }" }
  - insert: { table: lines, data: { text: "${ vars.picture.size | default(0) } bytes" } }
"""
DRAW = """
input: { prompt: string }
steps:
  - aiModel.generateImage: { model: large, prompt: "${ input.prompt }", outputPath: cat.png }
    as: picture
  - return: { value: "${ vars.picture }" }
"""
PICTURE = b"a picture"


class Servers(FakeHttp):
    """A model that draws, and a shop that is unavailable at first."""

    def __init__(self) -> None:
        super().__init__({})
        self.statuses = [503, 200]

    async def send(self, request: Any) -> HttpResponse:
        self.sent.append(request)
        json = {"content-type": "application/json"}
        if request.url.endswith("/images/generations"):
            drawn = {"created": 1, "data": [{"b64_json": b64encode(PICTURE).decode()}]}
            return HttpResponse(200, json, msgspec.json.encode(drawn))
        return HttpResponse(self.statuses.pop(0), json, b"{}")


class OpenedFiles(KeptFiles):
    """Folders of runs that remember whether they were removed."""

    def __init__(self) -> None:
        self.opened: list[KeptFolder] = []

    def open(self) -> KeptFolder:
        self.opened.append(super().open())
        return self.opened[-1]


def test_a_file_that_a_called_function_made_is_there_in_the_next_attempt(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        shop.http, shop.files = Servers(), OpenedFiles()
        shop.more = {
            "functions/draw.yaml": DRAW,
            "addons/aiModel.yaml": "enabled: true\nconfig: { apiKey: '${ env.PAY_KEY }' }\n",
            "addons/localStorage.yaml": "enabled: true\n",
        }
        with pytest.raises(Failure):
            await shop.attempt("first", 0, FULFIL)
        assert await shop.attempt("second", 0, FULFIL)
        assert [request.url.rpartition("/")[2] for request in shop.http.sent] == [
            "generations", "", "",
        ]  # fmt: skip
        assert shop.storage.files == {("storage", "pictures", "cat.png"): PICTURE}
        assert (await shop.lines_and_events())[0] == [f"{len(PICTURE)} bytes"]
        assert len(shop.files.opened) == 2
        assert all([await folder.size("cat.png") is None for folder in shop.files.opened])

    run(tmp_path, do)


def test_a_job_without_steps_of_files_opens_no_folder(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        shop.files = OpenedFiles()
        function = """
payload: { number: integer }
steps:
  - insert: { table: lines, data: { text: done } }
"""
        assert await shop.attempt("first", 0, function)
        assert shop.files.opened == []

    run(tmp_path, do)
