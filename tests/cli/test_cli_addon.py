"""`bbops addon` lists addons, makes them from documents and servers, and switches them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bbops.interfaces.cli._root_group import RootGroup
from bbops.language.addons._base import kinds
from tests.bench.imports import figures
from tests.support.vendors import OPENAI, STRIPE
from tests.vendors.mcp_server import Tools
from tests.vendors.stand_in import Answer, StandIn


def bbops(root: Path, *arguments: str) -> Result:
    """Run `bbops addon` in a folder."""
    command = ["addon", arguments[0], *arguments[1:], "--path", str(root)]
    return CliRunner().invoke(RootGroup("bbops"), command)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project and a document beside it."""
    project = tmp_path / "shop"
    (project / "functions").mkdir(parents=True)
    (project / "project.yaml").write_text("bbops: 1\nname: shop\n")
    (tmp_path / "stripe.json").write_text(json.dumps(STRIPE.document))
    return project


def add(root: Path, *more: str, source: str = "") -> Result:
    source = source or str(root.parent / "stripe.json")
    return bbops(root, "add", source, "--name", "billing", *more)


def test_a_document_becomes_an_addon(root: Path) -> None:
    result = add(root, "createRefund=POST /v1/refunds")
    assert (result.exit_code, result.stdout) == (0, (
        "made    billing.createRefund: POST /v1/refunds\nmade    addons/billing.yaml\n"
        "made    addons/billing/createRefund.yaml\nchanged project.yaml\n"
    ))  # fmt: skip
    assert "BILLING_TOKEN: { secret: true }" in (root / "project.yaml").read_text()
    again = add(root, "--json")
    (step,) = json.loads(again.stdout)["steps"]
    assert (step["step"], step["what"]) == ("billing.createRefund", "same")


def test_a_document_is_fetched_and_its_key_is_not_kept(root: Path) -> None:
    with StandIn(Answer(body=STRIPE.document)) as stand_in:
        url = f"{stand_in.url}/openapi.json"
        result = add(root, "refund=PostRefunds", "--header", "X-Key=s3cret", source=url)
        assert stand_in.asked[0].headers["x-key"] == "s3cret"
    assert result.exit_code == 0, result.output
    every = "".join(path.read_text() for path in root.rglob("*.yaml"))
    assert url in every
    assert "s3cret" not in every + result.output


@pytest.mark.parametrize("answer", [Answer(404, {}), Answer(302, {}, {"location": "/x"})])
def test_a_document_that_cannot_be_fetched_is_told(root: Path, answer: Answer) -> None:
    with StandIn(answer) as stand_in:
        result = add(root, "a=b", "--header", "X-Key=s3cret", source=stand_in.url)
    assert result.exit_code == 2
    assert f"answered {answer.status}" in result.stderr
    assert "s3cret" not in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["createRefund"], "STEP is NAME=VALUE"),
        (["a=PostRefunds", "a=PostRefunds"], "given twice"),
        (["a=GET /v1/refunds"], "no operation"),
        ([], "no step was named"),
        (["a=PostRefunds", "--server", "ftp://x"], "where the API is"),
        (["a=PostRefunds", "--header", "s3cret-token"], "--header is NAME=VALUE"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    root: Path, arguments: list[str], words: str
) -> None:
    result = add(root, *arguments)
    assert (result.exit_code, words in result.stderr) == (2, True), result.output
    assert not (root / "addons").exists()


def test_a_file_that_is_not_there_is_refused(root: Path) -> None:
    result = add(root, "a=b", source="missing.json")
    assert (result.exit_code, "cannot read 'missing.json'" in result.stderr) == (2, True)


def test_addons_are_listed_with_who_uses_them(root: Path) -> None:
    assert "no addons" in bbops(root, "list").stdout
    add(root, "createRefund=POST /v1/refunds")
    (root / "functions/pay.yaml").write_text("steps:\n  - billing.createRefund: { amount: 5 }\n")
    result = bbops(root, "list")
    assert result.stdout == (
        "billing: enabled, 1 step, used by 1 function, api.stripe.com\n"
    )  # fmt: skip
    (one,) = json.loads(bbops(root, "list", "--json").stdout)
    assert one["uses"] == [{"function": "pay", "line": 2}]
    assert one["secrets"] == ["BILLING_TOKEN"]


def test_a_listed_addon_names_its_service_and_where_its_key_is_made(root: Path) -> None:
    bbops(root, "enable", "email")
    assert bbops(root, "list").stdout == (
        "email: SendGrid, enabled, 2 steps, used by 0 functions, api.sendgrid.com\n"
        "    key: https://app.sendgrid.com/settings/api_keys\n"
    )
    (found,) = json.loads(bbops(root, "list", "--json").stdout)
    assert found["service"] == "SendGrid"
    assert found["keySource"] == "https://app.sendgrid.com/settings/api_keys"


def test_an_addon_with_another_endpoint_does_not_send_people_to_its_service(root: Path) -> None:
    bbops(root, "enable", "objectStorage")
    file = root / "addons/objectStorage.yaml"
    file.write_text(f"{file.read_text().rstrip()}\n  endpoint: https://minio.example.com\n")
    assert bbops(root, "list").stdout == (
        "objectStorage: Amazon S3, enabled, 4 steps, used by 0 functions, minio.example.com\n"
    )


def test_enabling_an_addon_says_where_its_key_is_made(root: Path) -> None:
    assert bbops(root, "enable", "email").stdout.endswith(
        "next: bbops env set EMAIL_API_KEY\n"
        "Its key is made at https://app.sendgrid.com/settings/api_keys. Rights: mail.send.\n"
    )


def test_the_catalog_lists_every_addon_with_its_service(root: Path) -> None:
    lines = bbops(root, "list", "--catalog").stdout.splitlines()
    assert {line.partition(":")[0] for line in lines[::2]} == set(kinds())
    assert "teamChat: Slack" in lines
    assert "localStorage: on the server" in lines
    found = json.loads(bbops(root, "list", "--catalog", "--json").stdout)
    assert {one["name"]: one["service"] for one in found}["payments"] == "Stripe"


def test_an_addon_is_enabled_and_disabled_and_keeps_what_is_configured(root: Path) -> None:
    result = bbops(root, "enable", "payments")
    assert "next: bbops env set PAYMENTS_SECRET_KEY" in result.stdout
    (root / "functions/pay.yaml").write_text(
        "steps:\n  - payments.createRefund: { chargeId: ch_1 }\n"
    )
    before = (root / "addons/payments.yaml").read_text()
    result = bbops(root, "disable", "payments")
    assert "these fail with 'addon-disabled' now: pay" in result.stdout
    after = (root / "addons/payments.yaml").read_text()
    assert after == before.replace("enabled: true", "enabled: false")
    bbops(root, "enable", "payments")
    assert (root / "addons/payments.yaml").read_text() == before


def test_switching_twice_changes_nothing(root: Path) -> None:
    bbops(root, "enable", "payments")
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*.yaml")}
    again = bbops(root, "enable", "payments")
    assert (again.exit_code, again.stdout) == (0, "payments is already enabled\n")
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*.yaml")} == before
    bbops(root, "disable", "payments")
    again = bbops(root, "disable", "payments")
    assert (again.exit_code, again.stdout) == (0, "payments is not enabled\n")
    assert json.loads(bbops(root, "disable", "payments", "--json").stdout)["changed"] == []


def test_switching_as_json_lists_env_variables_and_failing_functions(root: Path) -> None:
    found = json.loads(bbops(root, "enable", "payments", "--json").stdout)
    assert found["env"] == ["PAYMENTS_SECRET_KEY", "PAYMENTS_WEBHOOK_SECRET"]
    bbops(root, "enable", "localStorage")
    (root / "functions/show.yaml").write_text(
        "steps:\n  - return: { file: a.txt, from: localStorage }\n"
    )
    result = json.loads(bbops(root, "disable", "localStorage", "--json").stdout)
    assert result["failing"] == ["show"]


def test_unknown_name_lists_the_catalog(root: Path) -> None:
    result = bbops(root, "enable", "nothing-like-it")
    assert result.exit_code == 2
    assert "the catalog has aiModel, backendService, chatModel" in result.stderr


@pytest.mark.parametrize("verb", ["enable", "disable"])
def test_an_addon_that_does_not_exist_is_not_switched(root: Path, verb: str) -> None:
    result = bbops(root, verb, "paymens")
    assert (result.exit_code, "did you mean 'payments'?" in result.stderr) == (2, True)


# ---- MCP servers
@pytest.mark.long
def test_tools_of_a_server_become_steps_and_a_changed_one_is_told(root: Path) -> None:
    with Tools() as tools:
        source = f"mcp+{tools.url}"
        result = bbops(root, "add", source, "--name", "desk", "findTicket=find_ticket", "say=say")
        assert result.exit_code == 0, result.output
        assert "did you mean 'say'?" in bbops(root, "add", source, "--name", "desk", "a=sai").stderr
    assert (
        "gives: { type: object, fields: { id: integer, title: string } }"
        in (root / "addons/desk/findTicket.yaml").read_text()
    )
    old = (root / "addons/desk/findTicket.yaml").read_text()
    with Tools(words="Something else") as tools:
        result = bbops(root, "add", f"mcp+{tools.url}", "--name", "desk")
    assert "changed desk.findTicket" in result.stdout
    assert "same    desk.say" in result.stdout
    assert (root / "addons/desk/findTicket.yaml").read_text() != old


@pytest.mark.parametrize("answer", [Answer(401, {}), Answer(body="<html>"), Answer(body={})])
def test_a_server_that_is_none_of_mcp_is_told(root: Path, answer: Answer) -> None:
    with StandIn(answer) as stand_in:
        result = bbops(root, "add", f"mcp+{stand_in.url}", "--name", "desk", "a=b",
                       "--header", "Authorization=Bearer s3cret")  # fmt: skip
    assert (result.exit_code, "s3cret" in result.output) == (2, False), result.output


# ---- documents of vendors
@pytest.mark.long
def test_each_document_is_imported_and_used() -> None:
    """What it costs, `python -m tests.bench.imports` says."""
    found = {one.name: one.steps for one in figures()}
    assert found["large.json"] == found["large.yaml"] == 10
    assert OPENAI.steps.keys() == {"chat"}


# ---- test
def test_a_connection_is_tested_with_values_of_the_shell(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bbops(root, "enable", "payments")
    result = bbops(root, "test", "payments")
    assert (result.exit_code, "env variable PAYMENTS_SECRET_KEY" in result.stdout) == (1, True)
    monkeypatch.setenv("PAYMENTS_SECRET_KEY", "s3cret-key")
    with StandIn(Answer(body={"livemode": False})) as stand_in:
        file = root / "addons/payments.yaml"
        text = file.read_text().replace("config:\n", f"config:\n  endpoint: {stand_in.url}\n")
        file.write_text(text)
        told = bbops(root, "test", "payments").stdout
        assert told == "payments: works as the account for tests\n"
        stand_in.answers = [Answer(401, {"error": {"message": "Invalid API Key"}})]
        result = bbops(root, "test", "payments", "--json")
    assert result.exit_code == 1
    assert [one["state"] for one in json.loads(result.stdout)] == ["refused"]
    assert "s3cret-key" not in result.output


def test_an_addon_that_the_project_does_not_have_is_not_tested(root: Path) -> None:
    result = bbops(root, "test", "payments")
    assert (result.exit_code, "the project has no addon 'payments'" in result.stderr) == (2, True)


# ---- keys
def test_a_key_in_an_address_or_header_is_never_kept_or_shown(root: Path) -> None:
    with StandIn(Answer(body=STRIPE.document)) as stand_in:
        url = stand_in.url.replace("http://", "http://me:s3cret@") + "/a.json?key=s3cret"
        result = add(root, "refund=PostRefunds", source=url)
        assert result.exit_code == 0, result.output
        for header in ("X-Key=s3cret\nX: y", "X-Key=s3cret\u00e4"):
            refused = add(root, "refund=PostRefunds", "--header", header, source=stand_in.url)
            assert (refused.exit_code, "s3cret" in refused.output) == (2, False)
    assert "s3cret" not in "".join(path.read_text() for path in root.rglob("*.yaml"))
    result = bbops(root, "add", "mcp+https://a.example.com/?key=s3cret", "--name", "a", "b=c")
    assert (result.exit_code, "s3cret" in result.output) == (2, False)
