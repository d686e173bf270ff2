"""Values of a project's env variables, encrypted at rest, and never stored in git.

A value is read from the environment of the process first, then from the store. If a server has
several projects, they do not read the environment, whose values may belong to another project.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bbops.base.disk import replace_file
from bbops.base.errors import BbopsError
from bbops.runtime.auth.keys import make_key

KEY_VARIABLE = "BBOPS_KEY"
_KEY_BYTES = 32
_NONCE_BYTES = 12
_GENERATED_BYTES = 32  # 43 url-safe characters
_CHECK = ""  # not the name of a variable: its value shows whether the key is correct

StoreStamp = tuple[int, int, int] | None


class Secrets:
    """The store of a state folder. Several processes may use it concurrently."""

    def __init__(self, state: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._state, self._file = state, state / "env.json"
        self._environment = environment

    @classmethod
    def open(cls, state: Path) -> Secrets:
        """Open the store of a state folder. The first `set` writes the file.

        Raises:
            BbopsError: the folder cannot be created.
        """
        try:
            state.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise BbopsError(
                f"cannot make folder '{state}': {_reason(error)}",
                hint="use --state with a folder that you can write to",
            ) from None
        return cls(state)

    def __repr__(self) -> str:
        return f"Secrets({str(self._state)!r})"

    def with_values(self, values: Mapping[str, str]) -> Secrets:
        """Return this store with values that come before the environment and are not stored."""
        return Secrets(self._state, {**self._environment, **values})

    def get(self, name: str) -> str | None:
        """Return a stored value, None without one.

        Raises:
            BbopsError: the store or the key cannot be read, or the key is not correct.
        """
        sealed = self._read()
        return self._decrypt(name, sealed) if name in sealed else None

    def find(self, name: str) -> str | None:
        """Return a value of the environment, else a stored one; None without one. Raises as `get`.

        An empty variable counts as unset.
        """
        return self._environment.get(name) or self.get(name) or None

    def has(self, name: str) -> bool:
        """Return whether a variable has a value in the environment or the store."""
        return bool(self._environment.get(name)) or (name != _CHECK and name in self._read())

    def find_set(self, names: Iterable[str]) -> frozenset[str]:
        """Return the variables of `names` that have a value. Reads the store once."""
        sealed = self._read()
        return frozenset(
            name for name in names
            if self._environment.get(name) or (name != _CHECK and name in sealed)
        )  # fmt: skip

    def set(self, name: str, value: str) -> None:
        """Store a value; the first one creates the key. Raises as `get`."""
        with self._changing() as sealed:
            key = self._key(sealed)
            sealed.setdefault(_CHECK, _seal(key, _CHECK, ""))
            sealed[name] = _seal(key, name, value)

    def unset(self, name: str) -> bool:
        """Delete a value; return whether it existed."""
        with self._changing() as sealed:
            return sealed.pop(name, None) is not None

    def names(self) -> tuple[str, ...]:
        """Return the names of all stored values, sorted."""
        return tuple(sorted(name for name in self._read() if name != _CHECK))

    def stamp(self) -> StoreStamp:
        """Return a stamp that changes with the store. One `stat` call."""
        try:
            status = self._file.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def resolve(
        self, declared: Mapping[str, Mapping[str, Any]]
    ) -> tuple[dict[str, str | None], list[str]]:
        """Return the values of all declared variables, and the required variables without a value.

        The order is: the environment (empty counts as unset), the store, `generate` (once, then
        stored), the default.

        Args:
            declared: the `env` of an artifact: by name secret, default, generate, required, and
                the algorithm of a generated key.
        """
        sealed = self._read()
        values = {
            name: self._resolve(name, variable, sealed) for name, variable in declared.items()
        }
        required = [name for name, variable in declared.items() if variable["required"]]
        return values, sorted(name for name in required if values[name] is None)

    def _resolve(
        self, name: str, variable: Mapping[str, Any], sealed: Mapping[str, str]
    ) -> str | None:
        if value := self._environment.get(name):
            return value
        if name in sealed:
            return self._decrypt(name, sealed)
        if variable["generate"]:
            return self._generate(name, variable.get("makes"))
        default: str | None = variable["default"]
        return default

    def _generate(self, name: str, algorithm: str | None) -> str:
        with self._changing() as sealed:
            if name in sealed:  # another process was faster
                return self._decrypt(name, sealed)
            key = self._key(sealed)
            value = make_key(algorithm) if algorithm else secrets.token_urlsafe(_GENERATED_BYTES)
            sealed.setdefault(_CHECK, _seal(key, _CHECK, ""))
            sealed[name] = _seal(key, name, value)
            return value

    def _decrypt(self, name: str, sealed: Mapping[str, str]) -> str:
        return _unseal(self._key(sealed), name, sealed[name])

    def _key(self, sealed: Mapping[str, str]) -> bytes:
        """Return the key. It is created only while the store is empty."""
        key = read_key(self._state, may_make=not sealed)
        if _CHECK in sealed:
            _unseal(key, _CHECK, sealed[_CHECK])
        return key

    def _read(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, str])
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise BbopsError(f"cannot read '{self._file}': {_reason(error)}") from None
        except msgspec.MsgspecError:
            raise BbopsError(
                f"'{self._file}' is damaged", hint="restore it from a backup, or remove it"
            ) from None

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        with _locked(self._state / "env.json.lock"):
            sealed = self._read()
            before = dict(sealed)
            yield sealed
            if sealed != before:
                self._write(sealed)

    def _write(self, sealed: Mapping[str, str]) -> None:
        try:
            replace_file(self._file, msgspec.json.encode(sealed))
        except OSError as error:
            raise BbopsError(f"cannot write '{self._file}': {_reason(error)}") from None


def read_key(state: Path, *, may_make: bool) -> bytes:
    """Return the key from the environment or the key file, which is created with `may_make`.

    Raises:
        BbopsError: the key is missing or not valid, or other users can read it.
    """
    from_environment = os.environ.get(KEY_VARIABLE)
    if from_environment:
        return _decode_key(from_environment, KEY_VARIABLE)
    path = _key_path(state)
    if may_make:
        _make_key(path)
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise BbopsError(
            f"cannot read the key '{path}': {_reason(error)}",
            hint=f"restore it, or put the key into {KEY_VARIABLE}",
        ) from None
    if mode & 0o077:
        raise BbopsError(f"other users can read the key '{path}'", hint=f"run 'chmod 600 {path}'")
    return _decode_key(text, str(path))


def _key_path(state: Path) -> Path:
    try:
        base = os.environ.get("XDG_CONFIG_HOME")
        folder = Path(base) if base else Path.home() / ".config"
    except RuntimeError:
        raise BbopsError(
            "there is no home folder for the key of the secrets",
            hint=f"put 32 random bytes in base64 into {KEY_VARIABLE}",
        ) from None
    path = folder / "bbops" / "key"
    if path.resolve().is_relative_to(state.resolve()):
        raise BbopsError(
            f"the key '{path}' would be next to the data that it protects",
            hint=f"set XDG_CONFIG_HOME to another folder than the state, or use {KEY_VARIABLE}",
        )
    return path


def _make_key(path: Path) -> None:
    """Create the key file unless it exists, safely with concurrent processes."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            replace_file(path, b64encode(secrets.token_bytes(_KEY_BYTES)) + b"\n", only_new=True)
    except OSError as error:
        raise BbopsError(
            f"cannot make the key '{path}': {_reason(error)}",
            hint=f"put 32 random bytes in base64 into {KEY_VARIABLE}",
        ) from None


def _decode_key(text: str, where: str) -> bytes:
    try:
        key = b64decode(text.strip(), validate=True)
    except (Base64Error, ValueError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise BbopsError(
            f"'{where}' does not contain a key, expected 32 bytes in base64",
            hint="'openssl rand -base64 32' prints one",
        )
    return key


def _seal(key: bytes, name: str, value: str) -> str:
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return b64encode(nonce + AESGCM(key).encrypt(nonce, value.encode(), name.encode())).decode()


def _unseal(key: bytes, name: str, sealed: str) -> str:
    try:
        data = b64decode(sealed, validate=True)
        nonce, rest = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
        return AESGCM(key).decrypt(nonce, rest, name.encode()).decode()
    except (InvalidTag, ValueError):
        what = f"the value of '{name}'" if name else "the stored secrets"
        raise BbopsError(
            f"{what} cannot be decrypted: it was encrypted with another key",
            hint=f"restore the key they were stored with, in {KEY_VARIABLE} or in its file",
        ) from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BbopsError(f"cannot lock '{path}': {_reason(error)}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _reason(error: OSError) -> str:
    return (error.strerror or "no reason given").lower()
