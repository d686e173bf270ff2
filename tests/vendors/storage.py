"""Where a stand-in of Amazon S3 is, and how its own client asks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Storage:
    """An address, and a key that is good there."""

    url: str
    key_id: str
    secret: str

    def client(self) -> Any:
        """Return the vendor's own client."""
        import boto3  # noqa: PLC0415 - half a second

        return boto3.client(
            "s3", endpoint_url=self.url, region_name=REGION, aws_access_key_id=self.key_id,
            aws_secret_access_key=self.secret,
        )  # fmt: skip

    @property
    def config(self) -> str:
        """The settings of the addon."""
        return (
            "config:\n  accessKeyId: ${ env.STORAGE_KEY_ID }\n"
            "  secretAccessKey: ${ env.STORAGE_SECRET }\n"
            f"  bucket: files\n  region: {REGION}\n  endpoint: {self.url}\n"
        )

    @property
    def env(self) -> dict[str, str]:
        """The values of its secrets."""
        return {"STORAGE_KEY_ID": self.key_id, "STORAGE_SECRET": self.secret}
