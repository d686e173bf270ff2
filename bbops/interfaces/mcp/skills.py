"""The skills that agents are given: folders with one SKILL.md each."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from bbops.source.tree import FolderTree

FOLDER: Final = Path(__file__).parent.parent / "skills"
FILE: Final = "SKILL.md"
_FENCE: Final = "---\n"


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill.

    Attributes:
        name: of its folder, which its front matter repeats.
        front: the front matter as it stands in the file.
        text: the whole file.
    """

    name: str
    front: Mapping[str, str]
    text: str

    @property
    def description(self) -> str:
        """What it is for, and when an agent reads it."""
        return self.front["description"]

    @property
    def path(self) -> str:
        """Where the file lies below a folder of skills."""
        return f"{self.name}/{FILE}"

    @property
    def digest(self) -> str:
        """`sha256:` and the hash of the file."""
        return f"sha256:{hashlib.sha256(self.text.encode()).hexdigest()}"

    @property
    def size_bytes(self) -> int:
        """How large the file is."""
        return len(self.text.encode())


@cache
def read_skills() -> Mapping[str, Skill]:
    """Return every skill by its name."""
    tree = FolderTree(FOLDER)
    entries = [one for one in tree.entries() if one.path.endswith(f"/{FILE}")]
    texts = tree.read([one.blob for one in entries])
    found = (_skill(one.path.partition("/")[0], texts[one.blob].decode()) for one in entries)
    return {one.name: one for one in found}


def _skill(name: str, text: str) -> Skill:
    return Skill(name, yaml.safe_load(text.split(_FENCE)[1]), text)
