"""AWS Signature Version 4: a request, or an address, that storage knows by a secret key.

The rules are Amazon's: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final
from urllib.parse import quote, urlsplit

_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_UNSIGNED: Final = "UNSIGNED-PAYLOAD"


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs for one bucket's region, as who owns a key."""

    key_id: str
    secret: str
    region: str

    def headers(
        self, method: str, url: str, query: Mapping[str, str], body: bytes, at: datetime,
        more: Mapping[str, str],
    ) -> dict[str, str]:  # fmt: skip
        """Return the headers of a request, `more` among them."""
        moment, digest = _stamp(at), sha256(body).hexdigest()
        signed = {
            "host": urlsplit(url).netloc, "x-amz-content-sha256": digest, "x-amz-date": moment,
            **more,
        }  # fmt: skip
        signature = self._sign(method, url, query, signed, digest, moment)
        names = ";".join(sorted(signed))
        credential = f"{self.key_id}/{self._scope(moment)}"
        told = f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
        return {**{name: one for name, one in signed.items() if name != "host"},
                "authorization": told}  # fmt: skip

    def address(self, url: str, seconds: int, at: datetime) -> str:
        """Return an address under which anybody may read for so long."""
        moment = _stamp(at)
        query = {
            "X-Amz-Algorithm": _ALGORITHM,
            "X-Amz-Credential": f"{self.key_id}/{self._scope(moment)}",
            "X-Amz-Date": moment, "X-Amz-Expires": str(seconds), "X-Amz-SignedHeaders": "host",
        }  # fmt: skip
        host = {"host": urlsplit(url).netloc}
        signature = self._sign("GET", url, query, host, _UNSIGNED, moment)
        return f"{url}?{query_of(query)}&X-Amz-Signature={signature}"

    def _sign(
        self, method: str, url: str, query: Mapping[str, str], headers: Mapping[str, str],
        digest: str, moment: str,
    ) -> str:  # fmt: skip
        lines = "".join(f"{name}:{headers[name].strip()}\n" for name in sorted(headers))
        names = ";".join(sorted(headers))
        request = "\n".join(
            (method, urlsplit(url).path or "/", query_of(query), lines, names, digest)
        )
        hashed = sha256(request.encode()).hexdigest()
        text = "\n".join((_ALGORITHM, moment, self._scope(moment), hashed))
        return hmac.new(self._key(moment), text.encode(), "sha256").hexdigest()

    def _scope(self, moment: str) -> str:
        return f"{moment[:8]}/{self.region}/s3/aws4_request"

    def _key(self, moment: str) -> bytes:
        key = f"AWS4{self.secret}".encode()
        for part in (moment[:8], self.region, "s3", "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        return key


def query_of(values: Mapping[str, str]) -> str:
    """Return a query as it is signed: sorted, with everything escaped that may be."""
    return "&".join(f"{quote(name, safe='~')}={quote(values[name], safe='~')}"
                    for name in sorted(values))  # fmt: skip


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
