import pytest

from ops.errors import InputError
from ops.storage.option_text import refuse_secrets
from ops.storage.store import Store

SECRET = {
    "s3://AKIA1:hidden@bucket/run": "s3://...@bucket/run",
    "s3://hidden@bucket/run": "s3://...@bucket/run",
    "gs://hidden@bucket/run": "gs://...@bucket/run",
    "abfs://c:hidden@a.dfs.core.windows.net/x": "abfs://...@a.dfs.core.windows.net/x",
    "NAME=s3://AKIA1:hidden@bucket/a.csv?region=us-east-1": "NAME=s3://...@bucket/a.csv?region=us-east-1",
    "abfs://c@a.dfs.core.windows.net/x?sas_token=hidden": "",
    "s3://bucket/run?secret_key=hidden&region=x": "s3://bucket/run?secret_key=...&region=x",
}
PLAIN = [
    "gs://anonymous@bucket/x",
    "abfs://box@a.dfs.core.windows.net/x",
    "hdfs://me@host:9000/x",
    "s3://bucket/run",
    "s3://bucket/a@b/c",
    "runs/me@home",
    "s3://b/k?region=us-east-1",
]


def test_credentials_in_an_address_are_refused_and_never_shown() -> None:
    for address, shown in SECRET.items():
        with pytest.raises(InputError, match=r"^--out .*give them through the environment") as error:
            refuse_secrets(address, "--out")
        assert "hidden" not in str(error.value)
        assert "AKIA1" not in str(error.value)
        assert shown in str(error.value)
        with pytest.raises(InputError) as error:
            Store(address.removeprefix("NAME="))
        assert "hidden" not in str(error.value)
    for address in PLAIN:
        refuse_secrets(address, "--out")
