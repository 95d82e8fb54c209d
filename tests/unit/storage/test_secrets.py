import pytest

from ops.errors import InputError
from ops.storage.secrets import refuse_secrets
from ops.storage.store import Store


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("s3://AKIA1:hidden@bucket/run", "s3://...@bucket/run"),
        ("s3://hidden@bucket/run", "s3://...@bucket/run"),
        ("gs://hidden@bucket/run", "gs://...@bucket/run"),
        ("abfs://c:hidden@a.dfs.core.windows.net/x", "abfs://...@a.dfs.core.windows.net/x"),
        ("NAME=s3://AKIA1:hidden@bucket/a.csv?region=us-east-1", "NAME=s3://...@bucket/a.csv?region=us-east-1"),
        ("abfs://c@a.dfs.core.windows.net/x?sas_token=hidden", None),
        ("s3://bucket/run?secret_key=hidden&region=x", "s3://bucket/run?secret_key=...&region=x"),
    ],
)
def test_credentials_in_an_address_are_refused_and_never_shown(address: str, shown: str | None) -> None:
    with pytest.raises(InputError, match=r"^--out .*give them through the environment \(AWS_ACCESS_KEY_ID") as error:
        refuse_secrets(address, "--out")
    assert "hidden" not in str(error.value)
    assert "AKIA1" not in str(error.value)
    assert shown is None or shown in str(error.value)
    with pytest.raises(InputError) as error:
        Store(address.removeprefix("NAME="))
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize(
    "address",
    [
        "gs://anonymous@bucket/x",
        "abfs://box@a.dfs.core.windows.net/x",
        "hdfs://me@host:9000/x",
        "s3://bucket/run",
        "s3://bucket/a@b/c",
        "runs/me@home",
        "s3://b/k?region=us-east-1",
        "a?key=b@c"[:1],
    ],
)
def test_other_addresses_are_left_alone(address: str) -> None:
    refuse_secrets(address, "--out")
