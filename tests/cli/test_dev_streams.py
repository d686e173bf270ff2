"""`bbops dev` prints an answer that goes on as one request, once it has ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bbops.source.git import store
from tests.support.served import Served
from tests.support.streaming import FILES, KEY, Shop
from tests.vendors.dripping import Dripping

pytestmark = pytest.mark.long


class Dev(Served):
    """A `bbops dev` on a folder."""

    verb = "dev"

    def request(self) -> dict[str, Any]:
        """Return the next request that was answered; other events are passed over."""
        while (found := self.events.get(timeout=60))["event"] != "request":
            assert found["event"] != "ended"
        return found


def test_a_stream_is_one_request_with_the_code_of_its_error(tmp_path: Path) -> None:
    with Dripping() as vendor:
        files = {path: text.replace("URL", vendor.url).encode() for path, text in FILES.items()}
        store.init(tmp_path / "shop", files, message="Start")
        (tmp_path / "my.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
        options = ["--settings", str(tmp_path / "my.yaml")]
        with Dev(tmp_path / "shop", tmp_path / "home", *options, env={"MODEL_KEY": KEY}) as dev:
            dev.live()
            shop = Shop(dev, vendor)
            with shop.asking() as reading:
                asked = vendor.next()
                asked.say("a", "b")
                asked.end()
                assert [name for name, _ in reading.rest()] == ["text", "text", "done"]
            told = dev.request()
            assert (told["method"], told["path"], told["status"]) == ("POST", "/ask", 200)
            assert (told["code"], told["at"]) == ("", "")
            with shop.asking() as reading:
                asked = vendor.next()
                asked.put('data: {"error": {"message": "too much"}}\n\n', None)
                assert [name for name, _ in reading.rest()] == ["error"]
            told = dev.request()
            assert (told["status"], told["code"]) == (200, "serverError")
            assert told["at"] == "functions/ask.yaml:6"
