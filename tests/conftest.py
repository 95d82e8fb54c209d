"""What the tests share: a Ray that is started once, tiny models, and the extra data where it is named."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of extra data that ATLAS_TEST_DATA names; the test is skipped without it."""
    folder = os.environ.get("ATLAS_TEST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ATLAS_TEST_DATA names no folder")
    return Path(folder)


@pytest.fixture(scope="session")
def shared_ray() -> Iterator[None]:
    """One small Ray for all tests that need it, started the way the jobs start theirs."""
    from jobs._engine import connect

    connect(2)
    yield
    import ray

    ray.shutdown()


@pytest.fixture(scope="session")
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `python -m jobs.<job>` as a user does, from the checkout."""

    def run(job: str, *args: object, timeout: float = 120, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", f"jobs.{job}" if job else "jobs", *map(str, args)],
            cwd=ROOT,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run
