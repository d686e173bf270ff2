"""What is added to the server or to agents' tools is a file or two; drills as in test_drills."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.drills import COMPLETE, House, house, project

pytestmark = pytest.mark.long

FUNCTION = "functions/loud.yaml"

__all__ = ["house"]


# ---- an MCP tool
TOOL = '''"""Count the files of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bbops.interfaces.mcp.models import Draft
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, ToolParams, ToolResult
from bbops.interfaces.mcp.operation import RepositoryOperation

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository


class ContextCountParams(ToolParams, frozen=True):
    """The draft."""

    draft: Draft = ""


class ContextCountResult(ToolResult, frozen=True, kw_only=True):
    """How many there are."""

    files: int


async def run(backend: ProjectBackend, params: ContextCountParams) -> ContextCountResult:
    """Count the files in the process of the repository."""
    return await backend.run_operation(COUNT, params)


def do(repository: ProjectRepository, params: ContextCountParams) -> ContextCountResult:
    """Count the files."""
    tree = repository.tree(repository.find(params.draft))
    return ContextCountResult(files=len(tree.entries()))


COUNT = RepositoryOperation("context_count", ContextCountParams, ContextCountResult, do)
TOOL = McpTool(
    "context_count", "Count files", "Counts files.", ContextCountParams, ContextCountResult, run
)
'''
PUBLIC = """
from bbops_server.mcp.servers import PROJECT, tools_of

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
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, need
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
        "readSky": AddonAction(
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
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here


@page("/projects/{name:str}/letters", Permission.READ_PROJECT)
async def show_letters(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Count them."""
    return visit.page("letters", project=name, count=len(name))


PANEL = Panel("Build", 95, "Letters", "mail", "/letters")
ROUTES = (show_letters,)
'''
TEMPLATE = """{% extends "project.html" %}
{% block title %}Letters{% endblock %}
{% block heading %}Letters{% endblock %}
{% block main %}
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
    assert '<a href="/projects/small/letters">' in overview
    assert "<span>Letters</span>" in overview
    assert nobody in {302, 303, 401}
    assert len(house.planted) == 2
