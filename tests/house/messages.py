"""`python -m tests.house.messages [--sample N] [--seed N] [--surface NAME]` prints our texts.

A text is what somebody reads: a message or hint in code, a command's help, a paragraph of a
document, a line of a page. What differs from run to run stands in it as `{…}`.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.conftest import ROOT

SURFACES: Final = {
    "cli": ("bbops/interfaces/cli", "bbops/interfaces/client", "server/bbops_server/commands"),
    "diagnostics": ("bbops/compiler", "bbops/language", "bbops/source", "bbops/base"),
    "mcp": ("bbops/interfaces/mcp", "bbops/interfaces/skills", "server/bbops_server/mcp"),
    "pages": ("server/bbops_server/control_plane", "server/bbops_server/data_plane/pages"),
    "api": ("bbops", "server/bbops_server"),
    "docs": ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "docs"),
}
"""Where the texts of each surface stand; a file belongs to the first that holds it."""

SUFFIXES: Final = {".py", ".md", ".html"}
WORD = re.compile(r"[A-Za-z][a-z']*")
CODE = re.compile(r"```.*?```|^(?: {4}|\|? ?-{3}).*?$", re.DOTALL | re.MULTILINE)
MARKUP = re.compile(r"\{%.*?%\}|<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
NOT_PROSE = re.compile(
    r"^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|PRAGMA|ALTER|DROP)\b"
    r"|[A-Z]{3,} [A-Z]{3,}|\(\?|::[a-z\"]|\bawait \w|\\[wsn]|\{.*: \$ ?\{|: BODY"
)
COMMANDS = {"command", "group"}


@dataclass(frozen=True, slots=True, order=True)
class Text:
    """One text: the surface that shows it, the file and line where it stands, its words."""

    surface: str
    file: str
    line: int
    words: str

    def __str__(self) -> str:
        return f"{self.surface:<12}{self.file}:{self.line}: {self.words}"


def find_texts(root: Path = ROOT) -> list[Text]:
    """Return every text below `root`, in order."""
    return sorted({text for path, surface in _files(root) for text in _read(root, path, surface)})


def _files(root: Path) -> Iterator[tuple[Path, str]]:
    seen = set[Path]()
    for surface, places in SURFACES.items():
        for place in places:
            under = root / place
            for path in sorted(under.rglob("*")) if under.is_dir() else [under]:
                if path.suffix in SUFFIXES and path not in seen and path.is_file():
                    seen.add(path)
                    yield path, surface


def _read(root: Path, path: Path, surface: str) -> Iterator[Text]:
    source = path.read_text()
    read = {".py": _of_code, ".md": _of_document, ".html": _of_page}[path.suffix]
    for line, words in read(source):
        said = " ".join(words.split())
        if _is_prose(said):
            yield Text(surface, path.relative_to(root).as_posix(), line, said)


def _is_prose(text: str) -> bool:
    words = WORD.findall(re.sub(r"\{[^}]*\}|`[^`]*`", "", text))
    return len(words) > 2 and " " in text.strip() and not NOT_PROSE.search(text)


def _of_code(source: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(source)
    inner, silent = set[ast.AST](), _docstrings(tree)
    for node in ast.walk(tree):
        if node in inner or node in silent:
            continue
        if isinstance(node, ast.JoinedStr):
            inner.update(node.values)
            yield node.lineno, "".join(map(_part, node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _part(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else "{…}"


def _docstrings(tree: ast.Module) -> set[ast.AST]:
    """Return what nobody sees outside of the code: docstrings, but not those of commands."""
    commands = {node.body[0] for node in _functions(tree) if _is_command(node)}
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return {one.value for one in statements if one not in commands}


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _is_command(function: ast.FunctionDef) -> bool:
    words = (re.findall(r"\w+", ast.unparse(one)) for one in function.decorator_list)
    return any(COMMANDS & set(one) for one in words)


def _of_document(source: str) -> Iterator[tuple[int, str]]:
    text = CODE.sub(lambda code: "\n" * code[0].count("\n"), source)
    for line, words in enumerate(text.splitlines(), 1):
        yield line, words.strip("|#>-* ")


def _of_page(source: str) -> Iterator[tuple[int, str]]:
    text = MARKUP.sub(lambda tag: "\n" * tag[0].count("\n"), source)
    for line, words in enumerate(text.splitlines(), 1):
        yield line, re.sub(r"\{\{.*?\}\}", "{…}", words)


def sample(texts: list[Text], count: int, *, seed: int) -> list[Text]:
    """Return `count` of the texts, or all where there are fewer; a seed repeats its choice."""
    return sorted(random.Random(seed).sample(texts, min(count, len(texts))))


def main() -> None:
    """Print the texts, all or a sample that a seed repeats."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--surface", choices=SURFACES)
    parser.add_argument("--root", type=Path, default=ROOT)
    asked = parser.parse_args()
    texts = [text for text in find_texts(asked.root) if asked.surface in {None, text.surface}]
    if asked.sample is not None:
        texts = sample(texts, asked.sample, seed=asked.seed)
    print("\n".join(map(str, texts)))


if __name__ == "__main__":
    main()
