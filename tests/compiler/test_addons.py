"""Every addon: it is one file whose settings and examples validate, and say so when they run."""

from __future__ import annotations

from textwrap import indent
from typing import Any, cast

import pytest

import bbops.language.addons
from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check import validate
from bbops.compiler.check._supported import find_unsupported_parts
from bbops.compiler.compile.release import Cache, build
from bbops.compiler.testing.client import Client
from bbops.compiler.testing.host import fake_host
from bbops.language.addons import _base
from bbops.language.addons._base import AddonKind, kind, kinds, spec_of, step_keys, step_kind
from bbops.language.expressions.types import ANY, INTEGER, TEXT, list_of, map_of
from bbops.runtime.linking.release import link
from bbops.runtime.steps.addons import AddonFailure, make_reader
from bbops.runtime.vendors import link_addons
from bbops.source.tree import MemoryTree
from tests.conftest import FRAGMENTS, Files, run, with_function
from tests.support.unsupported import CODE, files_with_unsupported, told_of

CATALOG = {
    "aiModel", "backendService", "chatModel", "chatWebhook", "codeHosting", "crm", "email",
    "htmlToPdf", "identityToken", "imageProcessing", "issueTracker", "localStorage",
    "objectStorage", "payments", "sms", "smtpMail", "store", "teamChat", "workspaceDocs",
}  # fmt: skip
STEPS = step_keys()


def settings(addon: str, *, enabled: bool = True) -> str:
    found = kind(addon)
    assert found is not None
    config = f"config:\n{indent(found.config_example, '  ')}\n" if found.config_example else ""
    return f"enabled: {str(enabled).lower()}\n{config}"


def project(addon: str, steps: str, *, enabled: bool = True) -> Files:
    """Return a project that has the addon, and the steps at /run."""
    files = with_function(f"steps:\n{indent(steps, '  ')}\n")
    text = settings(addon, enabled=enabled)
    names = [part.partition(" ")[0] for part in text.split("${ env.")[1:]]
    env = "".join(f"  {name}: {{ secret: true, required: false }}\n" for name in names)
    files["project.yaml"] = files["project.yaml"].replace("env:\n", f"env:\n{env}")
    return {**files, f"addons/{addon}.yaml": text}


def answer(files: Files) -> Any:
    """Return the response of /run. No step here has a database."""
    tree, nothing = MemoryTree(files), cast("Any", None)
    built = build(tree, base=tree)
    env = {**dict.fromkeys(built.project.settings.model.env, "x" * 40)} if built.project else {}
    release = link(built.artifact, name="a", host=fake_host(nothing), env=env, detailed=True)
    return run(Client(release, nothing).ask("POST", "/run"))


def failure(files: Files) -> str:
    """Return why /run failed, as the log has it."""
    reply = answer(files)
    assert (reply.status, reply.json["error"]["code"]) == (500, "serverError")
    return str(reply.json["error"]["detail"])


def findings(files: Files) -> list[Diagnostic]:
    _, found = validate(MemoryTree(files))
    assert {*told_of(found)} <= {*files_with_unsupported(files)}
    return [one for one in found if one.code not in {"unused-variable", CODE, *FRAGMENTS}]


def test_the_catalog_is_complete() -> None:
    assert set(kinds()) == CATALOG
    assert len(STEPS) == 55


@pytest.mark.parametrize("addon", sorted(CATALOG))
def test_an_addon_says_what_it_is_and_what_it_needs(addon: str) -> None:
    found = kinds()[addon]
    assert found.title
    assert found.summary.endswith(".")
    assert found.actions
    assert findings(project(addon, "- log: { message: a }")) == []


@pytest.mark.parametrize("addon", sorted(name for name in CATALOG if kinds()[name].secrets))
def test_secrets_of_an_addon_never_stand_in_git(addon: str) -> None:
    for secret in kinds()[addon].secrets:
        files = project(addon, "- log: { message: a }")
        path = f"addons/{addon}.yaml"
        others = [line for line in files[path].splitlines() if f" {secret}:" not in line]
        files[path] = "\n".join([*others, f"  {secret}: abc"])
        (found,) = findings(files)
        assert "exactly '${ env.NAME }'" in found.message


@pytest.mark.parametrize("key", STEPS)
def test_the_example_of_a_step_validates(key: str) -> None:
    step = step_kind(key)
    assert step is not None
    (example,) = step.examples
    assert f"{key}:" in example.steps
    assert findings(project(key.partition(".")[0], example.steps)) == []


def test_every_step_that_is_declared_is_built() -> None:
    declared = {name: one.actions.keys() for name, one in kinds().items()}
    every = {key: {"enabled": True, "config": {}} for key in declared}
    linked = link_addons(every, {})
    assert {name: one.steps.keys() for name, one in linked.items()} == declared
    assert find_unsupported_parts().addons == find_unsupported_parts().addon_steps == ()


REFUND = "payments.createRefund: { chargeId: ch_1 }"


@pytest.mark.parametrize("files", [
    project("payments", f"- {REFUND}", enabled=False),
    with_function(f"steps:\n  - {REFUND}\n"),
], ids=["disabled", "absent"])  # fmt: skip
def test_a_step_of_an_addon_that_is_not_enabled_publishes_and_fails(files: Files) -> None:
    (found,) = findings(files)
    assert (found.severity, found.code) == ("warning", "addon-disabled")
    assert failure(files) == "addon 'payments' is not enabled in this project"


STREAMED = """- return:
    stream:
      aiModel.chatCompletion:
        model: m
        messages: [{ role: user, content: hi }]"""
DISABLED = {
    "step": ("payments", f"- {REFUND}"),
    "stored file": ("localStorage", "- return: { file: a.txt, from: localStorage }"),
    "stream": ("aiModel", STREAMED),
}


@pytest.mark.parametrize("use", DISABLED)
def test_each_use_of_a_disabled_addon_is_a_warning_and_fails(use: str) -> None:
    addon, step = DISABLED[use]
    files = project(addon, step, enabled=False)
    assert [(one.severity, one.code) for one in findings(files)] == [("warning", "addon-disabled")]
    assert findings(project(addon, step)) == []
    assert failure(files) == f"addon '{addon}' is not enabled in this project"


def test_functions_can_catch_a_disabled_addon() -> None:
    step = f"""- try:
    - {REFUND}
  catch:
    - return: {{ status: 503, value: "${{ error.code }}" }}
"""
    reply = answer(project("payments", step, enabled=False))
    assert (reply.status, reply.json) == (503, "addon-disabled")


def test_enabling_an_addon_compiles_no_function_again() -> None:
    cache = Cache()
    build(MemoryTree(project("payments", f"- {REFUND}", enabled=False)), cache)
    assert build(MemoryTree(project("payments", f"- {REFUND}")), cache).compiled == 0


PERSON = map_of({"id": INTEGER, "name": TEXT.or_null(), "tags": list_of(TEXT), "more": ANY})


def test_what_an_addon_gives_has_the_type_that_expressions_rely_on() -> None:
    read = make_reader("crm.get", spec_of(PERSON))
    answer = {"id": 1, "tags": ["a"], "more": {"b": 2}, "unknown": 3}
    assert read(answer) == {"id": 1, "tags": ["a"], "more": {"b": 2}}
    assert read({**answer, "name": None})["name"] is None


@pytest.mark.parametrize("answer", [
    None, [], {}, {"id": "x", "tags": [], "more": 1}, {"id": 1, "tags": [None], "more": 1},
])  # fmt: skip
def test_what_has_another_type_is_refused(answer: Any) -> None:
    read = make_reader("crm.get", spec_of(PERSON))
    with pytest.raises(AddonFailure, match=r"'crm\.get' returned an unexpected") as caught:
        read(answer)
    assert caught.value.code == "addon-answer"


def test_a_new_addon_is_one_new_file(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    (tmp_path / "fax_machine.py").write_text(PLANTED)
    monkeypatch.setattr(
        bbops.language.addons, "__path__", [*bbops.language.addons.__path__, str(tmp_path)]
    )
    for cached in (_base._kind, _base.step_kind):
        cached.cache_clear()
    assert isinstance(kind("faxMachine"), AddonKind)
    steps = "- faxMachine.sendFax: { to: '123' }\n  as: sent\n- return:\n    value: ${ vars.sent }"
    files = {**with_function(f"steps:\n{indent(steps, '  ')}\n"), "addons/faxMachine.yaml": FAX}
    (step, file) = [one for one in validate(MemoryTree(files))[1] if one.code == CODE]
    assert {one.place.file for one in (step, file)} == {*files} & {
        "addons/faxMachine.yaml", "functions/run.yaml"
    }  # fmt: skip
    wrong = {**files, "addons/faxMachine.yaml": FAX.replace("number", "nubmer")}
    (found,) = [one for one in validate(MemoryTree(wrong))[1] if one.code == "unknown-key"]
    assert found.hint == "did you mean 'number'?"


FAX = "enabled: true\nconfig: { number: '1' }\n"
PLANTED = '''"""faxMachine: pages."""

from __future__ import annotations

from bbops.language.addons._base import AddonAction, AddonKind, Setting, need
from bbops.language.expressions.types import TEXT
from bbops.base.model import Model


class Config(Model):
    """The phone number to send from."""

    number: Setting


ADDON = AddonKind(
    "Fax", "Pages.", Config,
    {"sendFax": AddonAction(
        "Send Fax", "Send a page.", (need("to"),), TEXT, "- faxMachine.sendFax:"
    )},
)
'''
