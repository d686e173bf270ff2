"""Vendors that tests ask, on loopback: fixtures for every test."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from tests.support.patience import PATIENCE_SECONDS
from tests.vendors.storage import REGION, Storage
from tests.vendors.stripe_like import StripeLike


@pytest.fixture(scope="session")
def storage() -> Iterator[Storage]:
    """A stand-in of Amazon S3 that knows one key, and holds every signature against it."""
    import boto3  # noqa: PLC0415 - a second, in a process that needs them
    from moto.server import ThreadedMotoServer  # noqa: PLC0415

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    people = boto3.client(
        "iam", endpoint_url=url, region_name=REGION, aws_access_key_id="a",
        aws_secret_access_key="b",
    )  # fmt: skip
    people.create_user(UserName="u")
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    people.put_user_policy(
        UserName="u", PolicyName="all",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [everything]}),
    )  # fmt: skip
    key = people.create_access_key(UserName="u")["AccessKey"]
    found = Storage(url, key["AccessKeyId"], key["SecretAccessKey"])
    for bucket in ("files", "crewdesk"):
        found.client().create_bucket(Bucket=bucket)
    reset = f"{url}/moto-api/reset-auth"
    httpx.post(reset, content="0", timeout=PATIENCE_SECONDS).raise_for_status()
    yield found
    server.stop()


@pytest.fixture(scope="session")
def payments() -> Iterator[StripeLike]:
    """A stand-in of Stripe."""
    with StripeLike("sk_test_of_at_least_32_characters_in_all") as found:
        yield found
