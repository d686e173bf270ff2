"""Read the examples of docs/errors as projects, and make the page that lists all codes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bbops.edit.authoring.topics import parse_codes
from tests.conftest import BOARD, PARTNERS, ROOT, Files, sample
from tests.docs.examples import block

FOLDER = ROOT / "docs/errors"
OTHERS = frozenset(
    name for page in ("publications", "responses")
    for name in parse_codes((FOLDER / f"{page}.md").read_text())
)  # fmt: skip
"""Codes of publications, responses and jobs: no diagnostic has them, and no YAML shows them."""
TABLES = {
    "users": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  name: { type: string }
  email: { type: string, unique: true }
  team_id: { type: integer, nullable: true }
  password_hash: { type: string, private: true }
""",
    "notes": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  title: { type: string }
  slug: { type: string, default: "" }
  done: { type: boolean, default: false }
  author_id: { type: integer, references: users.id, nullable: true }
""",
    "orders": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  total: { type: decimal }
""",
    "events": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  made_at: { type: datetime }
""",
    "comments": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  note_id: { type: integer, references: notes.id }
  body: { type: string }
""",
}
SHAPES = """
query: { team?: integer, slug?: string }
input:
  id: integer
  a: number
  b: number
  price: integer
  count: integer
  title: string
  bio?: string
  name?: string
  email?: email
  coupon?: string
  state: { type: string, enum: [open, closed] }
"""
_ENDPOINT = "method: POST\npath: /run\nfunction: run\nauthentication: JWT\ndescription: Runs.\n"
_CHANNEL = "name: API\nbasePath: /{path}\nauthentication: {authentication}\n"
_PAYMENTS = """
enabled: true
config: { secretKey: "${ env.PAYMENTS_SECRET_KEY }" }
"""
_CHAT_MODEL = """
enabled: true
config: { apiKey: "${ env.PAYMENTS_SECRET_KEY }" }
"""
_PROJECT = """
bbops: 1
name: shop
env:
  JWT_SECRET: { secret: true, generate: true }
  PAYMENTS_SECRET_KEY: { secret: true }
  GREETING: { default: hello }
auth: { signingKey: "${ env.JWT_SECRET }" }
"""
_HELLO = "steps: [{ return: { value: hello } }]\n"
_PATH = re.compile(r"^# (\S+\.ya?ml)( +<-)?\n", re.MULTILINE)


_HEAD = """# Diagnostics

Each finding has a code that never changes its meaning. `bbops validate` prints it in brackets, with
the cure as a hint; `bbops explain CODE` prints what stands here, wrong and right. `<-` marks the
line that is told. A warning never stops a publication."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One block of an example: `wrong` or `right`.

    Attributes:
        files: the files that it names; a list of steps is the function `run`.
        marked: the (path, line) of each `<-`, where a wrong one goes wrong.
    """

    verdict: str
    files: Files
    marked: frozenset[tuple[str, int]]

    @property
    def project(self) -> Files:
        """The project that has these files, and around them what they refer to."""
        texts = "".join(self.files.values())
        around = surroundings()
        if "webhook: partner" in texts:
            around["webhooks/partners.yaml"] = PARTNERS
        if "chatModel." in texts:
            around["addons/chatModel.yaml"] = _CHAT_MODEL
        return around | self.files


def surroundings() -> Files:
    """Return the project that the examples belong to."""
    files = sample(
        functions__notes__list=_HELLO, functions__clean=_HELLO, functions__run=_HELLO,
        endpoints__run=_ENDPOINT, addons__payments=_PAYMENTS, realtime__board=BOARD,
        channels__api=_CHANNEL.format(path="api", authentication="JWT"),
        channels__machines=_CHANNEL.format(path="machines", authentication="API Key"),
        project=_PROJECT,
    )  # fmt: skip
    return files | {f"tables/{name}.yaml": text for name, text in TABLES.items()}


def read_example(text: str) -> Shown:
    """Return a block of docs/errors."""
    first, _, rest = text.partition("\n")
    verdict = first.lstrip("# ").split()[0].rstrip(":;")
    head, *parts = _PATH.split(rest)
    if not parts:
        indented = "".join(f"  {line}\n" for line in head.splitlines())
        parts = ["functions/run.yaml", "", f"{SHAPES}steps:\n{indented}"]
    files = dict(zip(parts[::3], parts[2::3], strict=True))
    marked = {(path, 1) for path, mark in zip(parts[::3], parts[1::3], strict=True) if mark}
    for path, content in files.items():
        lines = enumerate(content.splitlines(), 1)
        marked |= {(path, number) for number, line in lines if "# <-" in line}
    return Shown(verdict, files, frozenset(marked))


def read_examples(markdown: str) -> list[Shown]:
    """Return every block of the examples of a code."""
    return [read_example(text) for text in re.findall(r"```yaml\n(.*?)```", markdown, re.DOTALL)]


def index() -> str:
    """Return docs/errors.md: every code with what it says."""
    parts = [_HEAD]
    for page in sorted(FOLDER.iterdir()):
        name, codes = page.stem, parse_codes(page.read_text())
        rows = ["| code | what it says, and the cure |", "| --- | --- |"]
        for code, one in codes.items():
            text = one.text.replace("|", "\\|").replace("\n", " ").replace("](../", "](")
            rows.append(f"| [{code}](errors/{name}.md#{code.lower()}) | {text} |")
        parts += [f"## {next(iter(codes.values())).section}", "\n".join(rows)]
    parts += [
        "## The project of the examples",
        "Steps of the examples stand in a function of an endpoint with JWT, which begins so:",
        block("functions/run.yaml", f"{SHAPES.strip()}\nsteps:\n  - return: {{}}"),
        "Its tables:",
        *(block(f"tables/{name}.yaml", text.strip()) for name, text in TABLES.items()),
    ]
    return "\n\n".join(parts) + "\n"
