"""Hash and verify passwords with bcrypt, away from the event loop: one hash takes about 0.2 s."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final

import bcrypt

from bbops.runtime.values.failures import BadValue, WrongKind
from bbops.runtime.values.values import bounded_text, encode_text, kind

DEFAULT_ROUNDS: Final = 12
_LEAST_ROUNDS: Final = 4
_MOST_ROUNDS: Final = 15
_HASH: Final = re.compile(r"\$2[aby]\$(0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}")
_NOBODY: Final = f"$2b${DEFAULT_ROUNDS}${'.' * 53}"
# bcrypt reads no more than this.
_MOST_BYTES: Final = 72


async def hash_password(password: str, rounds: int = DEFAULT_ROUNDS) -> str:
    """Return the bcrypt hash of a password of any length; each round doubles the work.

    Raises:
        FlowError: the password is no text, or the rounds are not 4 to 15.
    """
    if type(rounds) is not int or not _LEAST_ROUNDS <= rounds <= _MOST_ROUNDS:
        raise BadValue(f"'rounds' is {_LEAST_ROUNDS} to {_MOST_ROUNDS}, found {rounds}")
    prepared = _prepare(password)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_threads(), _hash, prepared, rounds)


async def verify_password(password: str, hash: str | None) -> bool:  # noqa: A002 - the step's word
    """Return whether the password has that hash.

    Without a hash, or with one that is none, the answer is false after the same time, so that
    it does not tell whether an account exists.

    Raises:
        FlowError: the password is no text.
    """
    known = hash if type(hash) is str and _HASH.fullmatch(hash) else None
    prepared = _prepare(password)
    loop = asyncio.get_running_loop()
    matches = await loop.run_in_executor(_threads(), _verify, prepared, known or _NOBODY)
    return matches and known is not None


@cache
def _threads() -> ThreadPoolExecutor:
    # bcrypt releases the GIL; more threads than cores would only take time from the event loop.
    return ThreadPoolExecutor(max(1, min(4, (os.cpu_count() or 2) - 1)), "bbops-passwords")


def _prepare(password: str) -> bytes:
    if type(password) is not str:
        raise WrongKind(f"'password' needs text, found {kind(password)}")
    encoded = encode_text(bounded_text(password))
    if len(encoded) <= _MOST_BYTES and b"\0" not in encoded:
        return encoded
    return base64.b64encode(hashlib.sha256(encoded).digest())


def _hash(password: bytes, rounds: int) -> str:
    return bcrypt.hashpw(password, bcrypt.gensalt(rounds)).decode()


def _verify(password: bytes, against: str) -> bool:
    try:
        return bcrypt.checkpw(password, against.encode())
    except ValueError:
        return False
