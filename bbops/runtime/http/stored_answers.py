"""Answer with a file that a project keeps: `return: { file: …, from: localStorage }`."""

from __future__ import annotations

from typing import Any

from bbops.runtime.flow.run import Answer, Run
from bbops.runtime.http.file_answers import SentFile, find_type
from bbops.runtime.values.failures import WrongKind
from bbops.runtime.values.operators import kind
from bbops.runtime.vendors._work import AddonFailure, Work
from bbops.runtime.vendors.local_storage import find

ADDON = "localStorage"


async def answer_stored(
    run: Run, status: Any, path: Any, headers: Any, declared: str | None
) -> Answer:
    """Return the answer with a file, which stays as it was found while it is sent.

    Args:
        run: whose project keeps the file.
        status: of the answer.
        path: below the base directory.
        headers: of the answer, None for none.
        declared: its content type, None to find it out.

    Raises:
        Thrown: 404, there is none; 400, the path cannot be.
        AddonFailure: the addon is not enabled.
    """
    if type(path) is not str:
        raise WrongKind(f"'file' needs a text, got {kind(path)}")
    addon = run.addons.get(ADDON)
    if addon is None:
        raise AddonFailure("addon-disabled", f"addon '{ADDON}' is not enabled in this project")
    found = await find(Work(ADDON, run.host, addon.config, run.folder), path)
    type_ = declared or await find_type(path, found.read)
    return status, SentFile(found.read, found.size_bytes, type_, found.tag), headers, type_
