"""A secret of an addon is in no byte that the server writes or answers, whatever a vendor does.

One server has every addon that asks a vendor. Each of its steps is asked through an endpoint with
`history: full`, while the vendor fails in each way of the table of faults, and while it says the
secret aloud in its errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.source.git import store
from tests.support.served import Served
from tests.vendors.faults import FAULTS
from tests.vendors.scenario import CANARY, every_scenario, vendors
from tests.vendors.stand_in import Answer, StandIn

pytestmark = pytest.mark.long

SILENT = frozenset({"silent"})
"""A step that waits for its deadline says nothing that the others do not."""

STEPS = """
steps:
  - try:
      - STEP
        timeout: 20s
        as: it
    catch:
      - log: { level: error, message: "${ error.message } ${ error.reason | default('') }" }
      - return: { status: 502, value: { error: "${ error.message }", code: "${ error.code }" } }
  - log: { message: done, data: "${ vars.it }" }
  - return: { value: "${ vars.it }" }
"""
ENDPOINT = """
method: POST
path: /step/NUMBER
function: step-NUMBER
authentication: None
history: full
description: Runs a step.
"""


def aloud(secret: str) -> Iterator[Answer]:
    """Yield answers that say a secret, in each place where an error has words."""
    for name in ("message", "error", "detail", "errors", "error_description"):
        yield Answer(400, {name: f"the key {secret} is wrong"})
    yield Answer(401, {"error": {"message": f"{secret}?", "code": secret, "type": secret}})
    yield Answer(400, {"errors": [{"message": secret, "field": secret}], "errorMessages": [secret]})
    yield Answer(200, {"ok": False, "error": secret})
    yield Answer(403, f"<html>{secret}</html>")
    yield Answer(302, {}, {"location": f"https://other.example.com/{CANARY}"})


def project(urls: dict[str, str]) -> dict[str, bytes]:
    """Return the files of a project with every addon, and an endpoint for each scenario."""
    secrets = dict.fromkeys(name for vendor in vendors().values() for name in vendor.secrets)
    env = "".join(f"  {name}: {{ secret: true }}\n" for name in secrets)
    files = {"project.yaml": f"bbops: 1\nname: shop\nenv:\n{env}"}
    for name, vendor in vendors().items():
        config = "".join(f"  {line}\n" for line in vendor.config.splitlines())
        files[f"addons/{name}.yaml"] = f"enabled: true\nconfig:\n{config}".replace(
            "URL", urls[name]
        )
    for number, (_, scenario) in enumerate(every_scenario()):
        steps = STEPS.replace("STEP", scenario.step)
        files[f"functions/step-{number}.yaml"] = steps.lstrip("\n")
        endpoint = ENDPOINT.replace("NUMBER", str(number))
        files[f"endpoints/step-{number}.yaml"] = endpoint.lstrip("\n")
    return {path: text.encode() for path, text in files.items()}


def written(folder: Path) -> dict[str, bytes]:
    """Return what is below a folder, by path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_no_byte_of_the_server_holds_a_secret_of_an_addon(tmp_path: Path) -> None:
    stand_ins = {name: StandIn() for name in vendors()}
    try:
        for one in stand_ins.values():
            one.__enter__()
        store.init(
            tmp_path / "shop", project({name: one.url for name, one in stand_ins.items()}),
            message="Start",
        )  # fmt: skip
        (tmp_path / "settings.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
        env = {key: text for one in vendors().values() for key, text in one.secrets.items()}
        settings = ["--settings", str(tmp_path / "settings.yaml")]
        with Served(tmp_path / "shop", tmp_path / "home", *settings, env=env) as served:
            served.live()
            answers = asked(served, stand_ins)
            told = [
                served.bbops(*words).stdout
                for words in (("requests", "list", "--json"), ("status", "--json"), ("plan",))
            ]
            events = [*served.events.queue]
        assert len(answers) > 600
        assert [text for text in answers if CANARY in text] == []
        assert CANARY not in str([told, events])
        found = [path for path, data in written(tmp_path).items() if CANARY.encode() in data]
        assert found == []
    finally:
        for one in stand_ins.values():
            one.__exit__()


def asked(served: Served, stand_ins: dict[str, StandIn]) -> list[str]:
    """Ask each step under each fault; return what is answered, headers included."""
    out: list[str] = []
    faults = [one.answer for name, one in FAULTS.items() if name not in SILENT]
    for number, (vendor, scenario) in enumerate(every_scenario()):
        stand_in = stand_ins[vendor.addon]
        given: list[Any] = [*scenario.answers]
        said = [one for secret in vendor.secrets.values() for one in aloud(secret)]
        for wanted in ([*given], *([one] for one in [*faults, *said])):
            stand_in.answers = [*wanted]
            reply = served.api.post(f"/step/{number}", timeout=120)
            out.append(f"{reply.status_code} {reply.headers} {reply.text}")
        assert stand_in.asked, scenario.step
    return out
