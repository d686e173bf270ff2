"""The skills for agents: a folder with a SKILL.md for each."""

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
    """A skill.

    Attributes:
        name: the name of its folder and of its front matter.
        front: the front matter.
        text: the whole file.
    """

    name: str
    front: Mapping[str, str]
    text: str

    @property
    def description(self) -> str:
        """The purpose of the skill, and when an agent should read it."""
        return self.front["description"]

    @property
    def path(self) -> str:
        """The path of the file in a folder of skills."""
        return f"{self.name}/{FILE}"

    @property
    def digest(self) -> str:
        """The hash of the file, with the prefix `sha256:`."""
        return f"sha256:{hashlib.sha256(self.text.encode()).hexdigest()}"

    @property
    def size_bytes(self) -> int:
        """The size of the file."""
        return len(self.text.encode())


@cache
def read_skills() -> Mapping[str, Skill]:
    """Return every skill by its name."""
    tree = FolderTree(FOLDER)
    entries = [entry for entry in tree.entries() if entry.path.endswith(f"/{FILE}")]
    texts = tree.read([entry.blob for entry in entries])
    skills = (_skill(entry.path.partition("/")[0], texts[entry.blob].decode()) for entry in entries)
    return {skill.name: skill for skill in skills}


def _skill(name: str, text: str) -> Skill:
    return Skill(name, yaml.safe_load(text.split(_FENCE)[1]), text)
