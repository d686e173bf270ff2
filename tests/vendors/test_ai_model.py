"""aiModel at servers with and without `/v1` in their address."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vendors.asking import Asked
from tests.vendors.scenario import CANARY, returning
from tests.vendors.stand_in import Answer, StandIn

STEP = "aiModel.createEmbedding: { model: m, input: hello }"
EMBEDDING = {"data": [{"embedding": [0.5], "index": 0}], "model": "m"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [("", "/v1"), ("/", "/v1"), ("/v1", "/v1"), ("/v1/", "/v1"), ("/openai/v1", "/openai/v1"),
     ("/v1beta/openai/", "/v1beta/openai")],
)  # fmt: skip
def test_endpoint_without_a_path_gets_v1(tmp_path: Path, path: str, expected: str) -> None:
    with StandIn(Answer(body=EMBEDDING)) as vendor:
        config = f"config:\n  apiKey: ${{ env.MODEL_KEY }}\n  endpoint: {vendor.url}{path}\n"
        project = Asked(tmp_path, "aiModel", config, returning(STEP), env={"MODEL_KEY": CANARY})
        assert project.ask().status == 200
        assert [one.path for one in vendor.asked] == [f"{expected}/embeddings"]
