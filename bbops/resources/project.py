"""project: `project.yaml`, the settings of the whole project."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from bbops.model import Model
from bbops.names import Duration, EnvName

EnvReference = Annotated[str, StringConstraints(pattern=r"^\$\{ *env\.[A-Z][A-Z0-9_]{0,62} *\}$")]
"""Exactly `${ env.NAME }`: a secret never stands in git."""


class EnvVariable(Model):
    """A value from outside the repository."""

    secret: bool = False
    required: bool = True
    default: str | None = None
    generate: bool = False
    description: str | None = None

    @property
    def may_be_missing(self) -> bool:
        """Whether a release goes live without it: it has a default, or is not required."""
        return self.default is not None or self.generate or not self.required


class Auth(Model):
    """How session tokens are signed."""

    users: str | None = None
    signing_key: EnvReference
    algorithm: Literal["HS256", "HS384", "HS512"] = "HS256"
    expires_in: Duration = "24h"
    issuer: str | None = None
    audience: str | None = None

    @property
    def key_name(self) -> str:
        """The env variable that holds the signing key."""
        return self.signing_key.removeprefix("${").removesuffix("}").strip().removeprefix("env.")


class DatabaseOptions(Model):
    """`full` waits for the disk on each write; `normal` may lose a moment in a power cut."""

    durability: Literal["normal", "full"] = "normal"


class Project(Model):
    """The project itself."""

    folder: ClassVar[str] = ""

    bbops: Literal[1]
    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,62}$")]
    description: str | None = None
    env: dict[EnvName, EnvVariable] = {}
    auth: Auth | None = None
    database: DatabaseOptions = Field(default_factory=DatabaseOptions)
