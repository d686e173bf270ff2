"""Each addon that is built tests its connection: by a read, in words, without a secret."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.check import validate
from bbops.compiler.testing.environment import try_addon
from bbops.interfaces.client.external import ExternalClient, LocalClock
from bbops.language.addons._base import kinds
from bbops.runtime.vendors import find_probe, find_steps
from bbops.runtime.vendors._mcp import digest_of
from bbops.runtime.vendors._probe import Connection
from bbops.source.tree import MemoryTree
from tests.vendors.mcp_server import Tools
from tests.vendors.stand_in import Answer, StandIn

BUILT = [name for name in kinds() if find_steps(name)]
SECRET = "s3cret" * 6
ASKS_NOBODY = {"imageProcessing"}
NEED_A_SERVER = {"localStorage": "files are kept", "htmlToPdf": "pages are printed"}
OTHER_PROTOCOLS = {"smtpMail"}
ASKED = sorted({*BUILT} - ASKS_NOBODY - {*NEED_A_SERVER} - OTHER_PROTOCOLS)
BY_OTHER_NAMES = {"backendService": "projectUrl", "issueTracker": "instanceUrl"}
"""Addons whose address is a setting of another name."""

SETTINGS = {
    "chatWebhook": {"webhookUrl": f"https://discord.com/api/webhooks/{'1' * 18}/{'a' * 60}"},
    "sms": {"accountSid": "AC1", "authToken": SECRET},
    "store": {"storeDomain": "a.myshopify.com", "accessToken": SECRET},
    "objectStorage": {"bucket": "bucket", "region": "eu-central-1"},
}  # fmt: skip
GOOD: dict[str, Any] = {
    "store": {"shop": {"name": "Acme"}}, "issueTracker": {"displayName": "Ada"},
    "teamChat": {"ok": True, "user": "bot", "team": "acme"}, "email": {"scopes": ["mail.send"]},
    "workspaceDocs": {"name": "Docs"}, "sms": {"friendly_name": "Main"},
    "chatWebhook": {"name": "Hook"},
}  # fmt: skip
XML = '<?xml version="1.0"?><ListBucketResult></ListBucketResult>'


def outcome(addon: str, url: str, *, lacks: str = "") -> Connection:
    """Return what a test of an addon of the catalog gives, whose vendor is at an address."""
    kind, config, values = kinds()[addon], "", {}
    fields = kind.config.model_fields
    for key in (field.alias or name for name, field in fields.items()):
        if key in {"endpoint", BY_OTHER_NAMES.get(addon)}:
            values[key] = url
        elif key in {*kind.needs_config, *SETTINGS.get(addon, {})}:
            values[key] = SETTINGS.get(addon, {}).get(key, SECRET)
    for key in values:
        config += f"  {key}: ${{ env.{key.upper()} }}\n"
    env = "".join(f"  {key.upper()}: {{ secret: true }}\n" for key in values)
    files = {
        "project.yaml": "bbops: 1\nname: a\n" + (f"env:\n{env}" if env else ""),
        f"addons/{addon}.yaml": "enabled: true\n" + (f"config:\n{config}" if config else ""),
    }  # fmt: skip
    given = {key.upper(): value for key, value in values.items() if key != lacks}
    return run(files, addon, given)


def run(files: dict[str, str], addon: str, given: dict[str, str]) -> Connection:
    """Return what a test of an addon of a project gives."""
    project, found = validate(MemoryTree(files))
    assert project is not None, [str(one) for one in found]

    async def ask() -> Connection:
        door = ExternalClient()
        try:
            return await try_addon(project, addon, given.get, door, LocalClock())
        finally:
            await door.close()

    result = asyncio.run(ask())
    assert SECRET not in result.text
    return result


def answer_of(addon: str) -> Answer:
    if addon == "objectStorage":
        return Answer(body=XML, headers={"content-type": "application/xml"})
    return Answer(body=GOOD.get(addon, {}))


@pytest.mark.parametrize("addon", BUILT)
def test_each_addon_that_is_built_has_a_probe(addon: str) -> None:
    assert find_probe(addon) is not None
    assert kinds()[addon].probe is find_probe(addon)


def test_what_is_not_built_has_none() -> None:
    assert [name for name in kinds() if name not in BUILT and find_probe(name)] == []


@pytest.mark.parametrize("addon", sorted({*ASKED} | ASKS_NOBODY))
def test_a_good_key_works_by_reading_alone(addon: str) -> None:
    with StandIn(answer_of(addon)) as stand_in:
        found = outcome(addon, stand_in.url)
        asked = [(one.method, one.path) for one in stand_in.asked]
    assert found.state == "works", found
    assert len(asked) == (0 if addon in ASKS_NOBODY else 1)
    reads = {"GET", "POST"} if addon == "teamChat" else {"GET"}  # its reads are POSTs
    assert {method for method, _ in asked} <= reads
    names = {"store": "works as Acme", "teamChat": "works as bot of acme"}
    assert found.text == names.get(addon, found.text)


@pytest.mark.parametrize(("addon", "what"), NEED_A_SERVER.items())
def test_what_only_a_server_does_says_so(addon: str, what: str) -> None:
    found = run({"project.yaml": "bbops: 1\nname: a\n", f"addons/{addon}.yaml": "enabled: true\n"},
                addon, {})  # fmt: skip
    assert found == Connection("untested", f"{what} by a server: there is none here")


@pytest.mark.parametrize("addon", ASKED)
@pytest.mark.parametrize(
    ("answer", "state"),
    [(Answer(401, {}), "refused"), (Answer(403, {}), "lacks"), (Answer(500, {}), "failed"),
     (Answer(302, {}, {"location": "https://evil.example.com/"}), "failed")],
)  # fmt: skip
def test_a_refusal_is_told_in_words(addon: str, answer: Answer, state: str) -> None:
    with StandIn(answer) as stand_in:
        found = outcome(addon, stand_in.url)
        assert len(stand_in.asked) == 1
    assert found.state == state, found
    assert found.text.isprintable()


@pytest.mark.parametrize("addon", ASKED)
def test_nobody_at_the_address_is_told(addon: str) -> None:
    with StandIn(Answer(breaks="reset")) as stand_in:
        found = outcome(addon, stand_in.url)
    assert (found.state, found.text.startswith("cannot be reached: ")) == ("unreachable", True)


def test_a_setting_without_a_value_and_a_missing_scope_are_told() -> None:
    with StandIn(Answer(body={"scopes": ["alerts.read"]})) as stand_in:
        assert outcome("email", stand_in.url).text == "the key lacks the scope mail.send"
        stand_in.asked.clear()
        found = outcome("email", stand_in.url, lacks="apiKey")
        assert stand_in.asked == []
    assert found == Connection("lacks", "lacks a value of 'apiKey': env variable APIKEY")


# ---- of the project's own
def own(settings: str, **steps: str) -> dict[str, str]:
    """Return a project with an addon of its own."""
    return {
        "project.yaml": "bbops: 1\nname: a\n", "addons/own.yaml": f"enabled: true\n{settings}\n",
        **{f"addons/own/{name}.yaml": text for name, text in steps.items()},
    }  # fmt: skip


def test_an_own_addon_is_tested_by_a_step_that_reads_without_parameters() -> None:
    get = "request: { method: GET, path: /a }\nparameters: { page?: integer }\n"
    post = "request: { method: POST, path: /b }\n"
    with StandIn(Answer(body={})) as stand_in:
        found = run(own(f"server: {stand_in.url}", b=post, a=get), "own", {})
        assert [(one.method, one.path) for one in stand_in.asked] == [("GET", "/a")]
        none = run(own(f"server: {stand_in.url}", b=post), "own", {})
    assert found.works
    assert none == Connection("lacks", "no step reads without parameters: nothing to test")


@pytest.mark.long
def test_an_mcp_server_is_tested_by_its_definitions(tmp_path: Path) -> None:
    del tmp_path
    digest = digest_of({"name": "say"})
    step = f"tool: {{ name: say, digest: {digest} }}\n"
    with Tools() as tools:
        found = run(own(f"mcp: {tools.url}", say=step), "own", {})
        works = run(own(f"mcp: {tools.url}"), "own", {})
    assert "is not the one that was chosen" in found.text
    assert works.text == "works as a client of 3 tools"
