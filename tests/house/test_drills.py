"""One new file is the whole change: each kind of thing is planted, and seen on all surfaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.drills import COMPLETE, House
from tests.support.served import git

pytestmark = pytest.mark.long

PROJECT = "bbops: 1\nname: shop\n"
FUNCTION = "functions/loud.yaml"
CALLED = "function: loud\ncases:\n- name: it is loud\n  expect: { value: AB! }\n"


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "house")


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "Change")


def project(folder: Path, files: dict[str, str]) -> Path:
    for path, text in {"project.yaml": PROJECT, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    git(folder, "init", "-qb", "main")
    commit(folder)
    return folder


# ---- a step
STEP = '''"""shout: a text in capitals, with an exclamation mark."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import TEXT, Type
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class ShoutParameters(Model):
    """A text."""

    text: ValueField


class Shout(Step):
    """Give a text in capitals.

    - It ends with an exclamation mark.
    """

    title: ClassVar[str] = "Shout"
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Loud",
            "- shout: { text: ab }\\n  as: loud\\n- return: { value: '${ vars.loud }' }",
            value="AB!",
        ),
    )

    shout: ShoutParameters

    def check(self, at: Checking) -> Type:
        at.need(self.shout.text, "text", "'text'", self.place("text"))
        return TEXT

    def code(self, flow: Flow) -> list[ast.stmt]:
        value = flow.expression("text.upper() + '!'", text=flow.value(self.shout.text))
        return flow.store(self.as_, value)
'''


def test_a_step_is_one_file(house: House, tmp_path: Path) -> None:
    house.plant("bbops/language/steps/shout.py", STEP)
    steps = "steps:\n- shout: { text: %s }\n  as: said\n- return: { value: '${ vars.said }' }\n"
    good = project(tmp_path / "good", {FUNCTION: steps % "ab", "tests/loud.yaml": CALLED})
    assert house.bbops("validate", cwd=good).startswith("no problems")
    assert "1 passed" in house.bbops("test", cwd=good)
    bad = project(tmp_path / "bad", {FUNCTION: steps % "3"})
    assert "'text' needs text, got integer" in house.bbops("validate", cwd=bad)
    assert '"shout"' in house.schema("function.schema.json")
    house.write_docs()
    assert "in capitals" in house.page("docs/language/steps/shout.md")
    assert "steps/shout.md" in house.page("docs/language/steps/README.md").replace("(", "(steps/")
    offered = house.ask(COMPLETE, FUNCTION, "steps:\n- sh", "\n", "complete", cwd=good)
    assert "shout" in offered
    shown = house.ask(COMPLETE, FUNCTION, "steps:\n- sho", "ut: { text: a }\n", "hover", cwd=good)
    assert "Give a text in capitals." in shown
    (told,) = house.agent(good, [("tools/call", {
        "name": "context_schema", "arguments": {"step": "shout"},
    })])  # fmt: skip
    assert "exclamation mark" in str(told)
    assert len(house.planted) == 1


# ---- a check
CHECK = '''"""Functions have names that are easy to say."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.build.check._checked import CheckedProject


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield a warning for each name without a vowel."""
    for function in project.functions.values():
        if not set(function.name) & set("aeiou"):
            yield Diagnostic(
                function.place(), "hard-to-say", f"'{function.name}' has no vowel",
                "give it one", severity="warning",
            )  # fmt: skip
'''
CODE = """# Names

## hard-to-say

A function whose name has no vowel.

Nobody can say it.
"""


def test_a_check_is_one_file(house: House, tmp_path: Path) -> None:
    house.plant("bbops/build/check/names_to_say.py", CHECK)
    house.plant("docs/errors/names.md", CODE)
    files = {"functions/xyz.yaml": "steps:\n- return: { value: 1 }\n"}
    folder = project(tmp_path / "shop", files)
    assert "'xyz' has no vowel [hard-to-say]" in house.bbops("validate", cwd=folder)
    assert "no vowel" in house.bbops("explain", "hard-to-say", cwd=folder)
    house.write_docs()
    assert "hard-to-say" in house.page("docs/errors.md")
    assert len(house.planted) == 2


# ---- a CLI command
COMMAND = '''"""Count the functions of a project."""

from __future__ import annotations

from pathlib import Path

import click

from bbops.base.console import say


@click.command()
def command() -> None:
    """Count the files in 'functions', in all folders below it."""
    say(str(len(list(Path("functions").rglob("*.yaml")))))
'''


def test_a_command_is_one_file(house: House, tmp_path: Path) -> None:
    house.plant("bbops/interfaces/cli/count_functions.py", COMMAND)
    folder = project(tmp_path / "shop", {FUNCTION: "steps: []\n"})
    assert house.bbops("count-functions", cwd=folder) == "1\n"
    assert "count-functions" in house.bbops("--help", cwd=folder)
    assert "in all folders below it" in house.bbops("count-functions", "--help", cwd=folder)
    asked = {"_BBOPS_COMPLETE": "bash_complete", "COMP_WORDS": "bbops cou", "COMP_CWORD": "1"}
    assert "count-functions" in house.bbops(cwd=folder, env=asked)
    assert len(house.planted) == 1


# ---- a resource kind
KIND = '''"""report: a function whose result is kept for people to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bbops.language.resources._kind import FunctionName, Kind


class Report(Kind):
    """A function whose result people read.

    - `title` stands above it.
    """

    folder: ClassVar[str] = "reports"
    skeleton: ClassVar[str] = "title: {words}\\nfunction: {function}\\n"

    title: str
    function: FunctionName

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return what a list says of a resource beside its description."""
        return f"runs {body.get('function')}"
'''


def test_a_resource_kind_is_one_file(house: House, tmp_path: Path) -> None:
    house.plant("bbops/language/resources/report.py", KIND)
    house.plant("docs/upcoming/reports/sales.yaml", "title: Sales\nfunction: notes/list\n")
    folder = project(tmp_path / "shop", {})
    assert "reports/daily.yaml" in house.bbops("new", "report", "daily", cwd=folder)
    assert (folder / "reports/daily.yaml").read_text() == "title: Daily\nfunction: daily\n"
    assert house.bbops("validate", cwd=folder).startswith("no problems in 3 resources")
    plan = house.bbops("plan", cwd=folder)
    assert "+ reports/daily.yaml" in plan
    commit(folder)
    house.bbops("mv", "functions/daily", "functions/nightly", cwd=folder)
    assert "function: nightly" in (folder / "reports/daily.yaml").read_text()
    wrong = project(tmp_path / "bad", {
        "reports/a.yaml": "title: A\nfunction: dayly\n",
        "functions/daily.yaml": "steps:\n- return: {}\n",
    })  # fmt: skip
    said = house.bbops("validate", cwd=wrong)
    assert "function 'dayly' does not exist [unknown-function]" in said
    assert "did you mean 'daily'?" in said
    assert '"title"' in house.schema("report.schema.json")
    house.write_docs()
    assert "`title` stands above it." in house.page("docs/language/report.md")
    assert "report.md" in house.page("docs/language/README.md")
    offered = house.ask(COMPLETE, "reports/a.yaml", "title: A\nfunction: ", "\n", "complete",
                        cwd=wrong)  # fmt: skip
    assert "daily" in offered
    listed, told = house.agent(folder, [
        ("tools/call", {"name": "context_list", "arguments": {"kind": "report"}}),
        ("tools/call", {"name": "context_schema", "arguments": {"kind": "report"}}),
    ])  # fmt: skip
    assert "runs nightly" in str(listed) or "runs daily" in str(listed)
    assert "function" in str(told)
    assert len(house.planted) == 2  # the kind, and its example


# ---- an MCP tool
TOOL = '''"""Count the files of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bbops.interfaces.mcp.models import Draft
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Gives, Takes, Tool
from bbops.interfaces.mcp.work import Work

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.bench import Bench


class Counting(Takes, frozen=True):
    """Of which draft."""

    draft: Draft = ""


class Counted(Gives, frozen=True, kw_only=True):
    """How many there are."""

    files: int


COUNT = Work("context_count", Counting, Counted)


async def run(place: ProjectBackend, taken: Counting) -> Counted:
    """Have them counted where the repository is."""
    return await place.work(COUNT, taken)


def do(bench: Bench, taken: Counting) -> Counted:
    """Count them."""
    return Counted(files=len(bench.tree(bench.find(taken.draft)).entries()))


TOOL = Tool("context_count", "Count files", "Counts files.", Counting, Counted, run)
'''
PUBLIC = """
from bbops_server.mcp.tables import PROJECT, tools_of

def ask():
    return [one.name for one in tools_of(PROJECT).values()]
"""


def test_an_mcp_tool_is_one_file(house: House, tmp_path: Path) -> None:
    house.plant("bbops/interfaces/mcp/project/context_count.py", TOOL)
    folder = project(tmp_path / "shop", {FUNCTION: "steps:\n- return: {}\n"})
    listed, counted = house.agent(folder, [
        ("tools/list", {}), ("tools/call", {"name": "context_count", "arguments": {}}),
    ])  # fmt: skip
    assert "context_count" in [one["name"] for one in listed["tools"]]
    assert counted["structuredContent"]["files"] == 2
    house.write_docs()
    assert "Counts files." in house.page("docs/agent-tools.md")
    assert "context_count" in house.ask(PUBLIC, cwd=folder)
    assert len(house.planted) == 1


# ---- an addon with a step that asks over HTTP
ADDON = '''"""weather: what the sky is like."""

from __future__ import annotations

from bbops.base.model import Model
from bbops.language.addons._base import Action, AddonKind, Secret, Setting, need
from bbops.language.expressions.types import TEXT, map_of


class Config(Model):
    """A key; `endpoint` is another address."""

    api_key: Secret
    endpoint: Setting | None = None


ADDON = AddonKind(
    "Weather",
    "What the sky is like.",
    Config,
    {
        "readSky": Action(
            "Read Sky", "Say what the sky is like in a city.",
            (need("city", "text", "Its name"),),
            map_of({"sky": TEXT}, "the sky"),
            "- weather.readSky: { city: Bern }\\n  as: found\\n- return: { value: ok }",
        ),
    },
    config_example="apiKey: ${ env.WEATHER_KEY }",
)  # fmt: skip
'''
VENDOR = '''"""weather, in the shape of its vendor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bbops.base.host import HttpResponse
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import segment, text_at
from bbops.runtime.vendors._work import Work


async def read_sky(work: Work, given: Mapping[str, Any]) -> Any:
    """Ask for one city."""
    url = f"{work.address('https://weather.example.com')}/v1/{segment(given['city'], 'city')}"
    return await work.ask("GET", url, {"authorization": work.setting("apiKey")}, refusal=refusal)


def refusal(_: HttpResponse, found: Any) -> Refusal:
    return Refusal(text_at(found, "message"))


STEPS = {"readSky": read_sky}
'''
SKY = """
function: sky
cases:
- name: it asks the vendor
  mocks:
    weather.readSky: { sky: blue }
  expect: { value: blue }
"""


SERVED = """
import http.server, threading
from pathlib import Path
from tests.vendors.asking import Asked

seen = []

class Vendor(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        seen.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"sky": "blue"}')

    def log_message(self, *_):
        pass

def ask(steps, box):
    server = http.server.HTTPServer(("127.0.0.1", 0), Vendor)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    config = f"config: {{ apiKey: '${{ env.WEATHER_KEY }}', endpoint: '{url}' }}"
    given = {"WEATHER_KEY": "secret"}
    reply = Asked(Path(box), "weather", config, steps, env=given).ask()
    server.shutdown()
    return [str(reply.status), reply.json, seen[0]]
"""


def test_an_addon_is_a_file_and_what_it_does_another(house: House, tmp_path: Path) -> None:
    house.plant("bbops/language/addons/weather.py", ADDON)
    house.plant("bbops/runtime/vendors/weather.py", VENDOR)
    ends = "  as: it\n- return: { value: '${ vars.it.sky }' }\n"
    steps = f"steps:\n- weather.readSky: {{ city: %s }}\n{ends}"
    folder = project(tmp_path / "shop", {"functions/sky.yaml": steps % "Bern"})
    assert "weather" in house.bbops("new", "addon", "weather", cwd=folder)
    (folder / "tests").mkdir()
    (folder / "tests/sky.yaml").write_text(SKY)
    assert house.bbops("validate", cwd=folder).startswith("no problems")
    assert "1 passed" in house.bbops("test", cwd=folder)
    wrong = project(tmp_path / "bad", {"functions/sky.yaml": steps % "3"})
    assert "'city' needs text, got integer" in house.bbops("validate", cwd=wrong)
    assert "weather.readSky" in house.schema("function.schema.json")
    assert "config.weather" in house.schema("addon.schema.json")
    house.write_docs()
    assert "what the sky is like in a city" in house.page("docs/language/addons/weather.md")
    assert "weather.md" in house.page("docs/language/addons/README.md")
    offered = house.ask(COMPLETE, "functions/sky.yaml", "steps:\n- wea", "\n", "complete",
                        cwd=folder)  # fmt: skip
    assert "weather.readSky" in offered
    assert house.ask(SERVED, steps % "Bern", str(tmp_path), cwd=folder) == [
        "200",
        "blue",
        "/v1/Bern",
    ]
    (told,) = house.agent(folder, [
        ("tools/call", {"name": "context_schema", "arguments": {"addon": "weather"}}),
    ])  # fmt: skip
    assert "apiKey" in str(told)
    assert len(house.planted) == 2


# ---- a page
PAGE = '''"""How many letters the name of a project has."""

from __future__ import annotations

from typing import Any

from litestar import Response
from litestar.params import FromPath

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.routes import Tab, page
from bbops_server.control_plane.web.visit import Here


@page("/projects/{name:str}/letters", Permission.READ_PROJECT)
async def show_letters(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Count them."""
    return visit.page("letters", project=name, count=len(name))


TAB = Tab(90, "Letters", "/letters")
ROUTES = (show_letters,)
'''
TEMPLATE = """{% extends "base.html" %}
{% from "parts.html" import project_nav %}
{% block title %}Letters{% endblock %}
{% block heading %}Letters{% endblock %}
{% block main %}
{{ project_nav(project, path) }}
<p>{{ count }} letters</p>
{% endblock %}
"""
VISIT = """
from pathlib import Path
from bbops_server.accounts.rules import Role
from tests.support.control import Tried

def ask(folder):
    Path(folder).mkdir()
    tried = Tried(Path(folder))
    tried.add("ada@example.com", Role.OWNER)
    ada = tried.as_person("ada@example.com")
    found = [ada.get(f"/projects/small{end}").text for end in ("", "/letters")]
    nobody = tried.browser().get("/projects/small/letters").status_code
    tried.close()
    return [*found, nobody]
"""


def test_a_page_is_a_module_and_its_template(house: House, tmp_path: Path) -> None:
    house.plant("server/bbops_server/control_plane/projects/letters.py", PAGE)
    house.plant("server/bbops_server/control_plane/pages/letters.html", TEMPLATE)
    overview, letters, nobody = house.ask(VISIT, str(tmp_path / "state"), cwd=tmp_path)
    assert "5 letters" in letters
    assert '<a href="/projects/small/letters">Letters</a>' in overview
    assert nobody in {302, 303, 401}
    assert len(house.planted) == 2
