"""Every exception bbops raises on purpose.

* BbopsError          base; message and hint are for the user, exit code 2
  + ProjectError      the YAML is wrong: carries diagnostics, exit code 1
  + GitError          git has failed, is missing or too old
  + DatabaseError     the database cannot be opened, or is too old
    + TriggerRefused  its role may not create an SQL trigger on a table
    + DatabaseDamaged it can, but its content is damaged, exit code 1
  + MigrationRefused  the live schema cannot become the declared one safely
    + SwitchTooLong   it can, but requests would have to wait too long for it
  + ServerError       a server cannot start or cannot be reached
    + WaitTimeout     a command has waited long enough for it, exit code 1
    + ServerAway      it does not respond now: a later request may succeed
    + TokenRejected   it does not accept the token of the request

All other exceptions are bugs. A message never has a secret, a stack or another user's data.
Errors of running flows are in `bbops.runtime.values.failures`, which imports nothing from here.
"""

from __future__ import annotations

from collections.abc import Sequence

from bbops.base.diagnostics import Diagnostic


class BbopsError(Exception):
    """An error that the user can fix: what was found and expected, and the fix in `hint`."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, str(hint)  # without the fix of a `Hint`

    def __str__(self) -> str:
        return f"{self.message}\n    hint: {self.hint}" if self.hint else self.message


class ProjectError(BbopsError):
    """The files do not form a project."""

    exit_code = 1

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)))


class GitError(BbopsError):
    """A git command failed; the message has git's own text, without credentials."""


class DatabaseError(BbopsError):
    """A database cannot be opened or used."""


class TriggerRefused(DatabaseError):
    """The role of a database may not create an SQL trigger on a table."""


class DatabaseDamaged(DatabaseError):
    """A file is not a database, or its pages contradict each other."""

    exit_code = 1


class MigrationRefused(BbopsError):
    """The declared tables differ from the live ones by more than may be done unasked."""


class SwitchTooLong(MigrationRefused):
    """Names or types of large tables would change, and requests would have to wait too long."""


class ServerError(BbopsError):
    """A server cannot start, or does not answer."""


class WaitTimeout(ServerError):
    """A server did not finish within the time that a command waits for it."""

    exit_code = 1


class ServerAway(ServerError):
    """A server does not respond now, or is overloaded; a later request may succeed."""


class TokenRejected(ServerError):
    """A server does not accept the token of a request: it has expired, or was revoked."""
