"""Table of all steps of the catalog and of the tests that judge them: `tests/vendors/steps.md`.

An empty cell is a gap, and fails `test_table.py`. A cell without a test gives the reason in
parentheses. `python -m tests.vendors.table` prints the table.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML

from bbops.compiler.check import validate
from bbops.language.addons._base import AddonAction, kinds
from bbops.runtime.vendors import find_steps
from bbops.source.tree import MemoryTree
from tests.conftest import ROOT, Files, with_function
from tests.vendors.descriptions import FILES, WITHOUT, WRONG
from tests.vendors.faults import FAULTS
from tests.vendors.scenario import Scenario, vendors

PAGE: Final = ROOT / "tests/vendors/steps.md"
LIBRARIES: Final[Mapping[str, str]] = {
    "aiModel": "openai", "backendService": "postgrest", "chatModel": "anthropic",
    "chatWebhook": "discord.py", "codeHosting": "PyGithub", "crm": "hubspot-api-client",
    "email": "sendgrid", "identityToken": "firebase_admin",
    "issueTracker": "atlassian-python-api", "payments": "stripe", "sms": "twilio",
    "store": "ShopifyAPI", "teamChat": "slack_sdk", "workspaceDocs": "notion-client",
}  # fmt: skip
"""Libraries of vendors, by the names that constraints.txt pins."""


ALSO: Final[Mapping[str, str]] = {"backendService": "PostgREST 12: `test_postgrest.py`"}
"""Real programs beside the libraries."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A library or program that judges steps without scenarios.

    Attributes:
        program: its name, and its version where constraints.txt pins one.
        file: the test module.
        right: tests against the program.
        faults: tests of faults.
    """

    program: str
    file: str
    right: tuple[str, ...]
    faults: tuple[str, ...]


_STORAGE: Final = (
    "test_a_path_that_leads_elsewhere_is_refused_before_anything_is_touched",
    "test_a_full_store_takes_no_more_and_says_so",
    "test_no_reader_sees_half_a_file",
    "test_nothing_outside_is_touched_whatever_links_there_are",
)
JUDGES: Final[Mapping[str, Judge]] = {
    "htmlToPdf.generatePdf": Judge(
        "Chromium", "test_html_to_pdf", ("test_paper_has_its_size",),
        ("test_thirty_five_ways_out_of_a_page_reach_nothing",
         "test_a_killed_browser_costs_one_of_a_hundred_prints",
         "test_what_takes_too_long_ends_and_harms_no_other"),
    ),
    "htmlToPdf.generatePdfFromUrl": Judge(
        "Chromium", "test_html_to_pdf", ("test_a_page_of_the_web_is_awaited_and_printed",),
        ("test_a_fault_of_the_page_fails_the_print",
         "test_a_redirect_into_the_machine_is_not_followed"),
    ),
    "identityToken.verifyIdToken": Judge(
        "firebase_admin", "test_identity_token",
        ("test_each_token_is_judged_as_the_vendors_own_library_judges_it",),
        ("test_old_keys_serve_six_hours_while_google_is_away",
         "test_without_any_key_nobody_is_let_in"),
    ),
    "imageProcessing": Judge(
        "pillow", "test_image_processing",
        ("test_a_picture_gets_another_size", "test_a_picture_is_written_in_every_format",
         "test_a_rectangle_is_cut_out"),
        ("test_what_is_no_picture_is_the_requests_fault",
         "test_a_picture_of_too_many_pixels_is_refused_before_it_is_unpacked"),
    ),
    "localStorage": Judge(
        "moto", "test_local_storage",
        ("test_a_file_is_kept_read_listed_and_deleted",
         "test_lists_show_files_and_folders_by_path"), _STORAGE,
    ),
    "objectStorage": Judge(
        "moto", "test_object_storage",
        ("test_a_file_of_a_request_is_stored_under_its_key",
         "test_files_are_listed_and_deleted"),
        ("test_a_fault_of_the_storage_fails_the_step", "test_an_invalid_list_is_an_error"),
    ),
    "objectStorage.getSignedUrl": Judge(
        "botocore", "test_object_storage",
        ("test_an_address_is_signed_as_the_vendors_own_client_signs_it",
         "test_any_key_is_signed_as_the_vendors_own_client_does"),
        ("test_a_key_that_a_client_would_rewrite_is_refused",),
    ),
    "payments.verifyWebhookSignature": Judge(
        "stripe", "test_payments", ("test_an_event_that_the_vendor_has_signed_is_read",),
        ("test_an_event_without_a_good_signature_is_a_400",),
    ),
    "smtpMail": Judge(
        "aiosmtpd", "test_smtp_mail", ("test_a_mail_arrives_as_it_was_written",),
        ("test_a_refusal_says_why_and_is_tried_again_where_it_may_pass",
         "test_a_server_that_does_not_speak_smtp_fails_the_step",
         "test_nothing_adds_a_header_or_a_recipient"),
    ),
}  # fmt: skip
"""Judges by step or addon; the step comes first."""


@dataclass(frozen=True, slots=True)
class Row:
    """One step, and the tests of each kind; an empty cell is a gap."""

    step: str
    library: str
    description: str
    faults: str
    example: str
    wrong_use: str


def rows() -> list[Row]:
    """Return a row for each step that runs."""
    return [
        make_row(addon, step) for addon, kind in kinds().items() for step in kind.actions
        if step in find_steps(addon)
    ]  # fmt: skip


def make_row(addon: str, step: str) -> Row:
    """Return the row of a step."""
    name = f"{addon}.{step}"
    vendor = vendors().get(addon)
    found = [one for one in vendor.scenarios if one.name == name] if vendor else []
    if found:
        library, faults = _library(addon, found), f"{len(FAULTS)} faults"
        description = _description(addon, name)
    else:
        judge = JUDGES.get(name) or JUDGES.get(addon)
        library = f"{_pinned(judge.program)}: {_tests(judge, judge.right)}" if judge else ""
        faults = _tests(judge, judge.faults) if judge else ""
        asks = addon == "objectStorage" and step != "getSignedUrl"
        description = f"({WITHOUT[addon]})" if asks or addon in WITHOUT else "(it sends no request)"
    return Row(name, library, description, faults, example(addon, step), wrong_uses(addon, step))


def _library(addon: str, found: list[Scenario]) -> str:
    differs = {part: reason for one in found for part, reason in one.differs.items()}
    said = "; ".join(f"{part}: {reason}" for part, reason in sorted(differs.items()))
    equal = f"{_pinned(LIBRARIES[addon])}: equal" + (f", except {said}" if said else "")
    return f"{equal}; {ALSO[addon]}" if addon in ALSO else equal


def _description(addon: str, name: str) -> str:
    if addon not in FILES:
        return f"({WITHOUT[addon]})"
    wrong = f", but {WRONG[name][1]}" if name in WRONG else ""
    return f"{', '.join(FILES[addon])}: valid{wrong}"


@cache
def _pins() -> Mapping[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==", 1) for line in lines if "==" in line)


def _pinned(program: str) -> str:
    """Return `openai 3.57.0`, or the name alone for a program of the system."""
    return f"{program} {_pins()[program]}" if program in _pins() else program


def _tests(judge: Judge, names: tuple[str, ...]) -> str:
    known = functions_of(judge.file)
    return ", ".join(f"`{name}`" for name in names if name in known)


@cache
def functions_of(file: str) -> frozenset[str]:
    """Return the names of the functions of a test module."""
    tree = ast.parse((Path(__file__).parent / f"{file}.py").read_text())
    return frozenset(one.name for one in tree.body if isinstance(one, ast.FunctionDef))


# ---- examples and wrong uses
def example(addon: str, step: str) -> str:
    """Return the page whose example of a step validates; empty if it does not."""
    page = Path(f"docs/language/addons/{addon}.md")
    text = kinds()[addon].actions[step].example
    shown = re.sub(r"\s+", " ", (ROOT / page).read_text())
    is_shown = re.sub(r"\s+", " ", text.strip()) in shown
    return f"{page.name}: validates" if is_shown and not _errors(addon, text) else ""


def wrong_uses(addon: str, step: str) -> str:
    """Return the codes of an unknown key, of missing ones and of values of another type.

    Empty if `validate` accepts a wrong use.
    """
    action, name = kinds()[addon].actions[step], f"{addon}.{step}"
    said, codes = _errors(addon, action.example), list[str]()
    for uses in _changed(action):
        found = [_errors(addon, _with(action.example, name, use)) - said for use in uses]
        if uses and not any(found):
            return ""
        codes += sorted(set().union(*found))
    return ", ".join(dict.fromkeys(codes))


def _changed(action: AddonAction) -> Iterator[list[Mapping[str, Any]]]:
    """Yield changes of parameters; None removes one. At least one change of each list is wrong."""
    yield [{"misspelt": 1}]
    for parameter in action.parameters:
        if parameter.required and not parameter.is_body:
            yield [{parameter.name: None}]
        if "any" not in parameter.takes:
            values = (True, 7, "text", {"a": {"b": True}}, [[True]])
            yield [{parameter.name: value} for value in values]
    if action.one_of:
        yield [dict.fromkeys(action.one_of)]


def _with(text: str, name: str, change: Mapping[str, Any]) -> str:
    steps = YAML(typ="safe").load(text)
    for step in steps:
        if name in step:
            given = {**(step[name] or {}), **change}
            step[name] = {key: value for key, value in given.items() if value is not None}
    out = StringIO()
    YAML(typ="safe").dump(steps, out)
    return out.getvalue()


@cache
def _errors(addon: str, steps: str) -> frozenset[str]:
    """Return the codes of the errors of steps, in a project that has the addon."""
    config = kinds()[addon].config_example
    body = "".join(f"  {line}\n" for line in config.splitlines())
    files: Files = with_function("steps:\n" + "".join(f"  {one}\n" for one in steps.splitlines()))
    files[f"addons/{addon}.yaml"] = "enabled: true\n" + (f"config:\n{body}" if config else "")
    names = {part.partition(" ")[0] for part in config.split("${ env.")[1:]}
    declared = "".join(f"  {name}: {{ secret: true }}\n" for name in sorted(names))
    files["project.yaml"] = files["project.yaml"].replace("env:\n", f"env:\n{declared}")
    _, found = validate(MemoryTree(files))
    return frozenset(one.code for one in found if one.severity == "error")


# ---- the page
def render(found: list[Row]) -> str:
    """Return the table as Markdown."""
    names = [one.name for one in fields(Row)]
    head = [f"| {' | '.join(names).replace('_', ' ')} |", f"|{' --- |' * len(names)}"]
    cells = ([getattr(one, name) for name in names] for one in found)
    return "\n".join([*head, *(f"| {' | '.join(one)} |" for one in cells)])


def make_page() -> str:
    """Return `steps.md`."""
    found = rows()
    catalog = len({one.step.partition(".")[0] for one in found})
    return f"""# Steps of the catalog, and the tests that judge them

Generated by `pytest tests/vendors/test_table.py --update-golden`: {len(found)} steps of \
{catalog} addons, {len(FAULTS)} faults.

- **library**: the vendor's library, or a real program, with the pinned version. "equal": both \
send the same requests (`test_scenarios.py`).
- **description**: the vendor's description of its API, by which each request is judged \
(`test_descriptions.py`).
- **faults**: answers and breaks with three attempts: the error, the number of requests, and no \
secret (`test_faults.py`), or the tests that take their place.
- **example**: the page of docs/language/addons whose example validates.
- **wrong use**: the errors of an unknown key, a missing parameter and a value of another type.

{render(found)}
"""


if __name__ == "__main__":
    sys.stdout.write(make_page())
