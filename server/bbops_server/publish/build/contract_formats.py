"""The format of contracts for members of a project, beside the published formats."""

from __future__ import annotations

from typing import Final

COMPLETE: Final = "complete"
"""The format `json` with hidden endpoints, for the Playground; it is never published."""
