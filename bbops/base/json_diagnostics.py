"""A diagnostic as every JSON of ours spells it: between processes, from servers, in files."""

from __future__ import annotations

import msgspec

from bbops.base.diagnostics import Diagnostic, Place, Severity


class JsonDiagnostic(msgspec.Struct, frozen=True):
    """A diagnostic with its place in one value; what fixes it is not among what is sent."""

    severity: Severity
    code: str
    file: str
    line: int
    column: int
    message: str
    hint: str = ""

    @classmethod
    def of(cls, one: Diagnostic) -> JsonDiagnostic:
        """Return a diagnostic so."""
        place = one.place
        return cls(
            one.severity, one.code, place.file, place.line, place.column, one.message, one.hint
        )

    def line_of_text(self) -> str:
        """Return it as one line, without its hint."""
        where = f"{self.file}:{self.line}:{self.column}"
        return f"{where}: {self.severity}: {self.message} [{self.code}]"

    def diagnostic(self) -> Diagnostic:
        """Return it as the rest of bbops knows it."""
        place = Place(self.file, self.line, self.column)
        return Diagnostic(place, self.code, self.message, self.hint, self.severity)
