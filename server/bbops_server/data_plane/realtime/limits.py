"""How much clients may ask for; each has its refusal."""

from __future__ import annotations

from typing import Final

MOST_CLIENTS: Final = 10_000
"""Connections of one project in a process; more are answered 503."""

MOST_PER_USER: Final = 20
"""Connections of one user in a process; another one is closed with 3504."""

MOST_TOPICS: Final = 100
"""Subscriptions of a connection; another one is refused with 106."""

MOST_FRAME_BYTES: Final = 80 << 10
"""Of what a client sends at once: a message of 64 KB, and what is around it."""

MOST_COMMANDS: Final = 256
"""In one frame; more end the connection with 3501."""

MOST_WAITING: Final = 256
MOST_WAITING_BYTES: Final = 1 << 20
"""Messages, and bytes, that wait for a client which reads too slowly; more close it with 3008."""

MOST_PRESENT: Final = 1_000
"""Subscribers of one topic that shows who is there; another one is refused with 106."""

MOST_LOG_BYTES: Final = 8 << 20
MOST_LOGS_BYTES: Final = 256 << 20
"""Of the messages that one topic keeps, and all of them."""

MOST_LOGS: Final = 100_000
"""Topics that are known while nobody has subscribed to them."""

CONNECT_SECONDS: Final = 15.0
"""How long a client may take to say who it is."""

PING_SECONDS: Final = 25
SLOW_CLOSE_SECONDS: Final = 10.0
"""How long a slow client has to read that it is closed."""
