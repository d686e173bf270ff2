"""objectStorage: files in a bucket."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may, need, run_file
from bbops.language.expressions.types import DATETIME, INTEGER, TEXT, list_of, map_of


class Config(Model):
    """`bucket` is the default bucket.

    `endpoint` is for storage of another vendor with the same protocol.
    """

    access_key_id: Secret = Field(
        description="The id of an access key of AWS, or of the storage at `endpoint`."
    )
    secret_access_key: Secret = Field(description="The secret of that access key.")
    bucket: Setting = Field(description="The default bucket, for steps that name none.")
    region: Setting = Field(description="The region of the bucket, such as `eu-central-1`.")
    endpoint: Setting | None = Field(
        default=None, description="The address of another storage with the API of Amazon S3."
    )


ADDON = AddonKind(
    "Object Storage",
    "Files in a bucket.",
    Config,
    {
        "uploadFile": AddonAction(
            "Upload File",
            "Store a file of this run under a key.",
            (
                run_file("filePath"),
                need("key", "text", "The name in the bucket"),
                may("contentType", "text", "Found out from the file if left out"),
                may("bucket"),
            ),
            map_of({"key": TEXT, "bucket": TEXT, "etag": TEXT.or_null()}, "the stored file"),
            "- objectStorage.uploadFile:\n"
            "    filePath: report.pdf\n"
            "    key: reports/today.pdf\n"
            "    contentType: application/pdf",
            repeat="safe",
        ),
        "getSignedUrl": AddonAction(
            "Get Signed URL",
            "Make an address under which anybody can read a file for a time.",
            (
                need("key"),
                may("expiresIn", "integer", "Seconds, 3600 if left out", limits=(1, 604_800)),
                may("bucket"),
            ),
            TEXT,
            "- objectStorage.getSignedUrl: { key: reports/today.pdf, expiresIn: 600 }\n"
            "  as: url\n"
            "- return:\n"
            "    value: ${ vars.url }",
            repeat="safe",
            writes=False,
        ),
        "deleteFile": AddonAction(
            "Delete File",
            "Delete a file; one that is not there is fine.",
            (
                need("key"),
                may("bucket"),
            ),
            map_of({"key": TEXT, "bucket": TEXT}, "the deleted file"),
            "- objectStorage.deleteFile: { key: reports/today.pdf }",
            repeat="safe",
        ),
        "listFiles": AddonAction(
            "List Files",
            "List the files whose keys begin with a text.",
            (
                may("prefix", "text", "All files if left out"),
                may("maxResults", "integer", "1000 if left out", limits=(1, 1_000)),
                may("bucket"),
            ),
            list_of(
                map_of(
                    {
                        "key": TEXT,
                        "size": INTEGER,
                        "lastModified": DATETIME,
                        "etag": TEXT.or_null(),
                    },
                    "a file",
                )
            ),
            "- objectStorage.listFiles: { prefix: reports/ }\n"
            "  as: files\n"
            "- return:\n"
            "    value: ${ vars.files | pluck('key') }",
            repeat="safe",
            writes=False,
        ),
    },
    config_example="accessKeyId: ${ env.STORAGE_KEY_ID }\n"
    "secretAccessKey: ${ env.STORAGE_SECRET }\n"
    "bucket: files\n"
    "region: eu-central-1",
    hosts=("*.amazonaws.com",),
    service="Amazon S3",
    key_source="https://console.aws.amazon.com/iam/, under Users and Security credentials",
)
