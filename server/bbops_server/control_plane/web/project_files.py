"""The text of a project's files, for the pages of its resources."""

from __future__ import annotations

from bbops.base.errors import BbopsError
from bbops.review.outline.outline import Outline
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.visit import Visit


async def read_project_file(
    visit: Visit, name: str, slug: str, outline: Outline | None, path: str
) -> str | None:
    """Return the text of a file of the live commit or of a draft.

    Returns:
        None if the outline does not name the file, or if the file exceeds 1 MB.

    Raises:
        HTTPException: the commit cannot be read.
    """
    if outline is None or path not in outline.files:
        return None
    try:
        if slug:
            return await visit.control.outlines.drafts_of(name).read_file(slug, path)
        return await visit.control.status.read_file(name, path)
    except BbopsError as error:
        raise refuse(error) from None
