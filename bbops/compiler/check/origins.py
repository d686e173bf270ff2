"""Pages of any origin may read answers, or those of some may send cookies: never both."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield channels that would let every page of the internet act as its reader."""
    for channel in project.channels.values():
        cors = channel.model.cors
        if cors.credentials and "*" in cors.origins:
            is_listed = "origins" in cors.model_fields_set
            yield Diagnostic(
                channel.place("cors", "origins" if is_listed else "credentials"), "any-origin",
                "'credentials: true' needs a list of origins, not '*'",
                "write 'origins: [https://app.example.com]': each of them may act as whoever reads"
                " its pages",
            )  # fmt: skip
