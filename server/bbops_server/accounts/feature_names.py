"""The features that a workspace may switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FEATURES: Final[Mapping[str, bool]] = {"restChannels": True}
"""Each feature that can be switched, and whether it is on where nobody has said."""
