"""The key that signs requests of the Playground: only this server and its data processes know it.

Each start makes another one, so no file holds it.
"""

from __future__ import annotations

import secrets
from typing import Final

_BYTES: Final = 32

PLAYGROUND_KEY: Final = secrets.token_bytes(_BYTES)
