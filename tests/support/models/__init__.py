"""A server of models on loopback whose answers follow a script, in the protocols of two vendors.

with scripted_models([Call("refund", {"id": 7}), Say("done", expect="ok")]) as models:
    …  # an agent with the endpoint `models.url` and the key `models.key`
assert models.requests[-1].results == ["ok"]
"""

from tests.support.models.script import (
    BadArguments,
    Broken,
    Busy,
    Call,
    CutOff,
    Cuts,
    Reply,
    Say,
    Script,
    Slow,
    Together,
)
from tests.support.models.server import KEY, ModelServer, scripted_models
from tests.support.models.wire import ModelRequest

__all__ = [
    "KEY", "BadArguments", "Broken", "Busy", "Call", "CutOff", "Cuts", "ModelRequest",
    "ModelServer", "Reply", "Say", "Script", "Slow", "Together", "scripted_models",
]  # fmt: skip
