"""Look for secrets in frontends; what was looked through before is known to be clean."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from bbops_server.data_plane.pages.assets import folder_of, read_manifest
from bbops_server.process.messages.builds import FindSecret, FindSecretAnswer

MOST_CLEAN: Final = 50_000


class Search:
    """Remembers which files hold which secrets not."""

    def __init__(self) -> None:
        self._clean: dict[tuple[str, ...], None] = {}

    def answer(self, request: FindSecret) -> FindSecretAnswer:
        """Answer the parent, who has the values."""
        return FindSecretAnswer(self.find(Path(request.state), request.frontend, request.values))

    def find(self, state: Path, name: str, values: Mapping[str, str]) -> tuple[str, str] | None:
        """Return a file that holds a secret value, and the secret's name; None where none does.

        Args:
            state: the project's.
            name: of the manifest.
            values: of the secrets, by their names.
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
        while len(self._clean) > MOST_CLEAN:
            del self._clean[next(iter(self._clean))]


def _forms(value: str) -> set[bytes]:
    """Return how a value may stand in a file: as it is, in JSON or a script, in an address."""
    written = {value, json.dumps(value)[1:-1], quote(value, safe="")}
    return {one.encode() for one in written}
