"""A secret of an addon is in no byte that the server writes or answers, whatever a vendor does.

One server has every addon with a secret: each vendor of the scenarios, object storage, mail by SMTP
and an addon of the project's own. An endpoint with `history: full` runs each step, while the vendor
fails in each way of the table of faults, and while its errors repeat the secret. The connection of
each addon is tested, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bbops.source.git import store
from tests.support.served import Served
from tests.vendors.faults import FAULTS
from tests.vendors.mail_server import PASSWORD, Server
from tests.vendors.scenario import CANARY, Scenario, Vendor, every_scenario, vendors
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


def vendor_of(addon: str, config: str, secrets: Mapping[str, str], *steps: str) -> Vendor:
    """Return an addon whose steps no library judges."""
    scenarios = tuple(Scenario(one, lambda _: None, Answer(200, {}), None) for one in steps)
    return Vendor(addon, config, secrets, scenarios, (), None, "", "")


STORAGE = vendor_of(
    "objectStorage",
    "accessKeyId: ${ env.STORAGE_KEY }\nsecretAccessKey: ${ env.STORAGE_SECRET }\n"
    "bucket: files\nregion: us-east-1\nendpoint: URL",
    {"STORAGE_KEY": f"{CANARY}-id", "STORAGE_SECRET": CANARY},
    "objectStorage.listFiles: {}", "objectStorage.deleteFile: { key: a }",
)  # fmt: skip
OWN = vendor_of(
    "billing", "token: ${ env.BILLING_TOKEN }", {"BILLING_TOKEN": CANARY},
    "billing.createRefund: { charge: ch_1 }",
)  # fmt: skip
OWN_FILES = {
    "addons/billing.yaml": "enabled: true\nserver: URL\nauth: { bearer: token }\n"
    "config: { token: '${ env.BILLING_TOKEN }' }\n",
    "addons/billing/createRefund.yaml": "title: Create a refund\n"
    "request: { method: POST, path: /v1/refunds }\n"
    "parameters: { charge: string }\ngives: { id: string? }\n",
}
MAIL = vendor_of(
    "smtpMail",
    "server: URL\nuser: shop\npassword: ${ env.MAIL_PASSWORD }\nsenderEmail: shop@b.co\n"
    "senderName: Shop\n"
    "caCertificate: ${ env.MAIL_CERTIFICATE }",
    {"MAIL_PASSWORD": PASSWORD},
    "smtpMail.sendEmail: { to: a@b.co, subject: Hello, text: text }",
    "smtpMail.sendEmail: { to: no@b.co, subject: Hello, text: text }",
)  # fmt: skip
VENDORS = {**vendors(), "objectStorage": STORAGE, "billing": OWN, "smtpMail": MAIL}
SCENARIOS = [
    *every_scenario(), *((one, step) for one in (STORAGE, OWN, MAIL) for step in one.scenarios)
]  # fmt: skip


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
    secrets = dict.fromkeys(name for vendor in VENDORS.values() for name in vendor.secrets)
    secrets["MAIL_CERTIFICATE"] = None
    env = "".join(f"  {name}: {{ secret: true }}\n" for name in secrets)
    files = {"project.yaml": f"bbops: 1\nname: shop\nenv:\n{env}"}
    files |= {path: text.replace("URL", urls["billing"]) for path, text in OWN_FILES.items()}
    for name, vendor in VENDORS.items():
        if vendor is OWN:
            continue
        config = "".join(f"  {line}\n" for line in vendor.config.splitlines())
        files[f"addons/{name}.yaml"] = f"enabled: true\nconfig:\n{config}".replace(
            "URL", urls[name]
        )
    for number, (_, scenario) in enumerate(SCENARIOS):
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
    stand_ins = {name: StandIn() for name, one in VENDORS.items() if one is not MAIL}
    mail = Server(tmp_path)
    mail.handler.answers = [f"554 5.7.1 {PASSWORD} is not allowed"]
    try:
        for one in stand_ins.values():
            one.__enter__()
        store.init(
            tmp_path / "shop",
            project({name: one.url for name, one in stand_ins.items()} | {"smtpMail": mail.url}),
            message="Start",
        )  # fmt: skip
        (tmp_path / "settings.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
        env = {key: text for one in VENDORS.values() for key, text in one.secrets.items()}
        env["MAIL_CERTIFICATE"] = mail.pem
        settings = ["--settings", str(tmp_path / "settings.yaml")]
        with Served(tmp_path / "shop", tmp_path / "home", *settings, env=env) as served:
            served.live()
            answers = asked(served, stand_ins)
            answers += try_connections(served, stand_ins)
            told = [
                served.bbops(*words).stdout
                for words in (("requests", "list", "--json"), ("status", "--json"), ("plan",))
            ]
            events = [*served.events.queue]
        assert len(answers) > 800
        for secret in (CANARY, PASSWORD):
            assert [text for text in answers if secret in text] == []
            assert secret not in str([told, events])
            files = written(tmp_path).items()
            assert [path for path, data in files if secret.encode() in data] == []
    finally:
        mail.server.stop()
        for one in stand_ins.values():
            one.__exit__()


def asked(served: Served, stand_ins: dict[str, StandIn]) -> list[str]:
    """Ask each step under each fault; return what is answered, headers included."""
    out: list[str] = []
    faults = [one.answer for name, one in FAULTS.items() if name not in SILENT]
    for number, (vendor, scenario) in enumerate(SCENARIOS):
        if vendor is MAIL:
            reply = served.api.post(f"/step/{number}", timeout=120)
            out.append(f"{reply.status_code} {reply.headers} {reply.text}")
            continue
        stand_in = stand_ins[vendor.addon]
        given: list[Any] = [*scenario.answers]
        said = [one for secret in vendor.secrets.values() for one in aloud(secret)]
        for wanted in ([*given], *([one] for one in [*faults, *said])):
            stand_in.answers = [*wanted]
            reply = served.api.post(f"/step/{number}", timeout=120)
            out.append(f"{reply.status_code} {reply.headers} {reply.text}")
        assert stand_in.asked, scenario.step
    return out


def try_connections(served: Served, stand_ins: dict[str, StandIn]) -> list[str]:
    """Test the connection of addons whose vendor repeats the secret; ten a minute are allowed."""
    out: list[str] = []
    for name in ("payments", "email", "objectStorage", "teamChat", "crm", "aiModel", "smtpMail"):
        if name in stand_ins:
            stand_ins[name].answers = [Answer(401, {"error": {"message": f"{CANARY} is wrong"}})]
        done = served.bbops("addon", "test", name, "--server", served.serving["control_url"])
        assert done.returncode in {0, 1}, done.stderr
        out.append(f"{done.stdout} {done.stderr}")
    return out
