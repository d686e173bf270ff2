"""A served project keeps its contract: schemathesis asks what its OpenAPI says may be asked."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import pyvips
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bbops.review.contract.sessions import operation_id
from tests.conftest import ROOT, TEMPLATE
from tests.support.served import Served, git
from tests.vendors.storage import Storage
from tests.vendors.stripe_like import StripeLike

pytestmark = pytest.mark.long
PROJECTS = (TEMPLATE, ROOT / "tests/samples/blog", ROOT / "tests/samples/saas")
EXAMPLES = 30
"""Requests of each operation, good ones and bad ones each."""
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance",
)  # fmt: skip


def published(project: Path) -> list[str]:
    """Return the ids of what a project publishes, by path; collecting tests compiles nothing."""
    bases = {file.stem: read(file)["basePath"] for file in project.glob("channels/*.yaml")}
    found = []
    for file in project.glob("endpoints/**/*.yaml"):
        one, name = read(file), file.relative_to(project / "endpoints").with_suffix("").as_posix()
        if one.get("docsVisibility") != "hidden":
            path = bases.get(one.get("channel"), "") + one["path"]
            found.append((re.sub(r":(\w+)", r"{\1}", path), one["method"], operation_id(name)))
    return [name for *_, name in sorted(found)]


def read(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(file.read_text())
    return content


OPERATIONS = [
    pytest.param(project, name, id=f"{project.name}-{name}")
    for project in PROJECTS for name in published(project)
]  # fmt: skip


class Asked:
    """A project that is served, as its contract describes it, and who asks it."""

    def __init__(self, served: Served) -> None:
        import schemathesis  # noqa: PLC0415 - takes 0.3 s

        (project,) = served.control.get("/api/projects").json()
        found = served.control.get(f"/api/projects/{project['name']}/contract").json()
        self.served, self.headers = served, served.sign_up()
        schema = schemathesis.openapi.from_dict(found)
        every = (one.ok() for one in schema.get_all_operations())
        self.operations = {one.definition.raw["operationId"]: one for one in every}
        self.checks = [getattr(schemathesis.checks, name) for name in CHECKS]
        self.modes = tuple(schemathesis.GenerationMode)
        self.made: dict[str, list[str]] = {}

    def ask(self, case: Any, *, is_signed_in: bool, at_random: bool) -> None:
        """Ask, and hold the answer to the contract; what is made is asked for afterwards."""
        template = case.operation.path.split("/")
        is_removal = case.operation.method.upper() == "DELETE"
        for place, (before, part) in enumerate(pairwise(template), start=2):
            made = self.made.get(before, [])
            if part.startswith("{") and made and not at_random:
                is_taken = is_removal and place == len(template) and len(made) > 1
                case.path_parameters[part[1:-1]] = made.pop() if is_taken else made[0]
        url, headers = str(self.served.api.base_url), self.headers if is_signed_in else {}
        answer = case.call(base_url=url, headers=headers)
        case.validate_response(answer, checks=self.checks)
        if answer.status_code == 201 and isinstance(found := answer.json(), dict):
            if "id" in found or "slug" in found:
                self.made.setdefault(template[-1], []).append(found.get("id") or found["slug"])
            if "key" in found:
                self.headers["x-api-key"] = found["key"]


@pytest.fixture(scope="module")
def box(
    tmp_path_factory: pytest.TempPathFactory, storage: Storage, payments: StripeLike
) -> Iterator[Any]:
    """Serve one project at a time, with stand-ins of the vendors that its addons ask."""
    running: dict[Path, Asked] = {}
    vendors = {"objectStorage": storage.url, "payments": payments.url}
    secrets = storage.env | {"PAYMENTS_SECRET_KEY": payments.key}

    def ask(project: Path) -> Asked:
        if project not in running:
            stop()
            folder = tmp_path_factory.mktemp("box")
            running[project] = Asked(_serve(project, folder, vendors, secrets))
            assert set(running[project].operations) == set(published(project))
        return running[project]

    def stop() -> None:
        for one in running.values():
            one.served.stop()
        running.clear()

    yield ask
    stop()


def _serve(
    project: Path, box: Path, vendors: Mapping[str, str], secrets: Mapping[str, str]
) -> Served:
    folder = shutil.copytree(project, box / project.name)
    for channel in folder.glob("channels/*.yaml"):  # the limits themselves are tried elsewhere
        lines = channel.read_text().splitlines()
        kept = [f"{one}000" if one.startswith("rateLimit:") else one for one in lines]
        channel.write_text("\n".join(kept) + "\n")
    for name, url in vendors.items():
        if (file := folder / f"addons/{name}.yaml").exists():
            file.write_text(f"{file.read_text()}  endpoint: {url}\n")
    git(folder, "init", "-qb", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Begin")
    env = {name: f"{name}-of-at-least-32-characters-in-all" for name in _needed(folder)} | secrets
    own = box / "server.yaml"
    own.write_text("egress: { allow: [127.0.0.1] }\n")
    served = Served(folder, box / "home", "--settings", str(own), env=env)
    served.live()
    return served


def _needed(folder: Path) -> list[str]:
    lines = (folder / "project.yaml").read_text().splitlines()
    declared = [one.strip().partition(":")[0] for one in lines if one.startswith("  ")]
    return [name for name in declared if name.isupper()]


@pytest.mark.parametrize(("project", "name"), OPERATIONS)
def test_an_operation_answers_as_the_contract_says(box: Any, project: Path, name: str) -> None:
    asked = box(project)
    operation = asked.operations[name]
    cases = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in asked.modes))

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate],
    )  # fmt: skip
    @given(cases, st.sampled_from([True, True, False]), st.booleans())
    def ask(case: Any, is_signed_in: Any, at_random: Any) -> None:
        asked.ask(case, is_signed_in=is_signed_in, at_random=at_random)

    ask()


SAAS = PROJECTS[2]


def test_the_picture_of_a_request_comes_to_lie_in_the_storage(box: Any, storage: Storage) -> None:
    asked = box(SAAS)
    wide = pyvips.Image.black(600, 300, bands=3).write_to_buffer(".png")
    path = asked.operations["me.avatar"].path
    send = partial(asked.served.api.post, path, headers=asked.headers)
    for _ in range(2):  # the second one takes the place of the first
        reply = send(files={"avatar": ("me.png", wide, "image/png")})
        assert reply.status_code == 200, reply.text
    (kept,) = storage.client().list_objects_v2(Bucket="crewdesk")["Contents"]
    assert urlsplit(reply.json()["avatarUrl"]).path == f"/crewdesk/{kept['Key']}"
    found = storage.client().get_object(Bucket="crewdesk", Key=kept["Key"])
    picture = pyvips.Image.new_from_buffer(found["Body"].read(), "")
    assert (picture.width, picture.height, found["ContentType"]) == (256, 256, "image/webp")
    assert send(files={"avatar": ("me.png", wide[:99], "image/png")}).status_code == 400


def test_a_team_begins_to_pay(box: Any, payments: StripeLike) -> None:
    asked = box(SAAS)
    made = asked.served.api.post(
        asked.operations["teams.create"].path, headers=asked.headers, json={"name": "Payers"}
    ).json()
    path = asked.operations["billing.subscribe"].path.replace("{teamId}", made["id"])
    reply = asked.served.api.post(path, headers=asked.headers)
    assert (reply.status_code, reply.json()) == (202, {"status": "active"})
    customer, subscription = (parse_qs(one["body"]) for one in payments.asked[-2:])
    assert (customer["name"], customer["metadata[teamId]"]) == (["Payers"], [made["id"]])
    assert subscription["customer"][0].startswith("cus_")
