"""Warnings of a build: browsers, local files, and secrets in frontends."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.compile.release import Built
from bbops_server.data_plane.pages.frontend import folder_of, read_manifest
from bbops_server.process.messages.builds import FindSecret, FindSecretAnswer

_PRINTING_ADDON: Final = "htmlToPdf"


def warn_of_browser(built: Built, problem: str) -> Built:
    """Return a build, with a warning if it prints and the browser has a problem.

    Args:
        built: the build of a project.
        problem: the problem of this server's browser; empty without one.
    """
    addon = built.project.addons.get(_PRINTING_ADDON) if built.project else None
    if addon is None or not problem or not addon.model.enabled:
        return built
    warning = Diagnostic(
        addon.place("enabled", key=True), "addon-needs", problem, severity="warning"
    )  # fmt: skip
    return replace(built, diagnostics=(*built.diagnostics, warning))


_FILES_ADDON: Final = "localStorage"


def warn_of_files(built: Built, *, stay_here: bool) -> Built:
    """Return a build, with a warning if it stores files that other servers lack.

    Args:
        built: the build of a project.
        stay_here: whether files are stored on this server, and servers may share the database.
    """
    addon = built.project.addons.get(_FILES_ADDON) if built.project else None
    if addon is None or not stay_here or not addon.model.enabled:
        return built
    warning = Diagnostic(
        addon.place("enabled", key=True), "local-storage-not-shared",
        "files of localStorage are on this server, and others with the same database lack them",
        "with several servers, set 'files' in server.yaml to a bucket of object storage",
        severity="warning",
    )  # fmt: skip
    return replace(built, diagnostics=(*built.diagnostics, warning))


# ---- Search the files of frontends for secrets; clean files are not searched again

MAX_CLEAN: Final = 50_000


class SecretSearch:
    """Searches files for secrets, and caches files without any."""

    def __init__(self) -> None:
        self._clean: dict[tuple[str, ...], None] = {}

    def answer(self, request: FindSecret) -> FindSecretAnswer:
        """Answer a request of the parent, which has the values."""
        return FindSecretAnswer(self.find(Path(request.state), request.frontend, request.values))

    def find(self, state: Path, name: str, values: Mapping[str, str]) -> tuple[str, str] | None:
        """Return a file with a secret value, and the secret's name; None without one.

        Args:
            state: the project's state folder.
            name: the name of the manifest.
            values: the secrets by name.
        """
        folder = folder_of(state)
        forms = [(secret, form) for secret, value in values.items() for form in _forms(value)]
        mark = hashlib.sha256(msgspec.json.encode(sorted(values.items()))).hexdigest()
        for path, asset in read_manifest(folder / name).files.items() if forms else ():
            if (asset.blob, mark) in self._clean:
                continue
            data = (folder / "files" / asset.blob).read_bytes()
            for secret, form in forms:
                if form in data:
                    return path, secret
            self._keep(asset.blob, mark)
        return None

    def _keep(self, *key: str) -> None:
        self._clean[key] = None
        while len(self._clean) > MAX_CLEAN:
            del self._clean[next(iter(self._clean))]


def _forms(value: str) -> set[bytes]:
    """Return the encodings of a value: plain, in JSON or a script, and in a URL."""
    encodings = {value, json.dumps(value)[1:-1], quote(value, safe="")}
    return {encoding.encode() for encoding in encodings}
