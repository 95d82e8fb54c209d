"""What the tests share: a Ray that is started once, tiny models, and the extra data where it is named."""

import contextlib
import importlib
import io
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from jobs.engine import fan_out
from tests.blank_figures import blank_figures

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig

ROOT = Path(__file__).parent.parent
CHOOSE_POOL = fan_out.choose_pool
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Each core has a process that runs tests; if each of these has a thread for every core, all wait for one another.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"
# How long an example takes says more of what else the machine does than of the code, so none has a deadline.
settings.register_profile("quick", deadline=None, max_examples=25)
# The check of a change draws the same examples each time: a rare one is for those who look for it, not for whoever
# submits next. `make test` draws others each time, and "long" looks hard.
settings.register_profile("full", deadline=None, max_examples=100, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


# Test files of jobs that one process does one after another, because they share Ray or the same finished runs.
FAMILIES = {
    "main": ("again", "audit_shown", "browse", "damaged_run", "export", "kept_tokens", "main_job", "pages", "readme",
             "record", "report", "same_rows", "tokens"),
    "explain": ("explanations_shown", "export_formats", "hard_negatives", "own_text", "respond"),
    "compare": ("compare", "compare_faults", "compare_matches", "compare_runs", "compare_steps"),
    "ray": ("engine", "s3", "same_rows_on_ray", "two_parts"),
    **{job: (job,) for job in ("audit", "contrast", "finetune", "meaning", "mixing", "outputs", "positions", "psi")},
}  # fmt: skip


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Keep the tests of a file together where several processes run them, and those of a family.

    A test belongs to the family of its file, or to the one that its parameter begins with (`[mixing3]`).
    """
    from xdist.scheduler import LoadScopeScheduling

    files = {f"test_{name}.py": family for family, names in FAMILIES.items() for name in names}

    class ByFamily(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = Path(nodeid.partition("::")[0])
            if path.parent.name != "jobs":
                return str(path)
            if path.name == "test_kills.py":  # each row is a process with a Ray of its own
                return nodeid
            parameter = nodeid.rpartition("[")[2].rstrip("]0123456789")
            return parameter if parameter in FAMILIES else files.get(path.name, str(path))

    return ByFamily(config, log)


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of extra data that ATLAS_TEST_DATA names; the test is skipped without it."""
    folder = os.environ.get("ATLAS_TEST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ATLAS_TEST_DATA names no folder")
    return Path(folder)


@pytest.fixture(scope="session")
def shared_ray(s3: str) -> Iterator[None]:
    """One small Ray for all tests that need it, started the way the jobs start theirs; its workers know `s3`.

    Workers that the jobs make actors of are tasks here, in processes that stay from test to test: each start of an
    actor imports all that the one before has imported. With `actors` they are actors, as in jobs that are submitted.
    """
    from jobs.engine.connect import connect

    connect(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fan_out, "choose_pool", lambda most, *_, **__: CHOOSE_POOL(most, False, 1))
        yield
    import ray

    ray.shutdown()


@pytest.fixture
def actors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers be actors where the jobs have them so."""
    monkeypatch.setattr(fan_out, "choose_pool", CHOOSE_POOL)


SERVER = """
import sys, time
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """An S3 server on loopback, named by the usual variables as long as it is asked for; gives its endpoint."""
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([sys.executable, "-c", SERVER], **options) as server:  # type: ignore[call-overload]
        endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
        variables = {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            yield endpoint
        server.kill()


@pytest.fixture
def bucket(s3: str) -> str:
    """A new bucket, as s3://NAME."""
    import boto3

    name = f"b-{uuid.uuid4().hex}"
    boto3.client("s3", endpoint_url=s3).create_bucket(Bucket=name)
    return f"s3://{name}"


@pytest.fixture(scope="session")
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `python -m jobs.<job>` as a user does, from the checkout."""

    def run(job: str, *args: object, timeout: float = 300, **env: str) -> subprocess.CompletedProcess[str]:
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


@pytest.fixture(scope="session")
def call() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Do what `command` does in this process, which has imported what a job imports: a tenth of the time."""

    def run(job: str, *args: object) -> subprocess.CompletedProcess[str]:
        is_folder = (ROOT / "jobs" / job).is_dir()
        module = importlib.import_module(f"jobs.{job}.job" if is_folder else f"jobs.{job}")
        said, told = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            status = module.JOB.main([str(arg) for arg in args])
        return subprocess.CompletedProcess([job], status, said.getvalue(), told.getvalue())

    return run


@pytest.fixture(name="blank_figures")
def _blank_figures() -> Iterator[None]:
    """Save figures as empty files."""
    with blank_figures():
        yield


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Save a small random model of any configuration beside the packaged model's tokenizer, and return its folder."""

    def make(
        config: "PretrainedConfig", seed: int = 0, change: Callable[["torch.nn.Module"], None] | None = None
    ) -> Path:
        import torch
        from transformers import AutoModel

        from ops.model.random_weights import save_random

        folder = save_random(tmp_path_factory.mktemp("model"), config, seed)
        if change is not None:
            model = AutoModel.from_pretrained(folder)
            with torch.no_grad():
                change(model)
            model.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def small_bert() -> "PretrainedConfig":
    """A BERT of 2 layers of 12 units that takes 40 positions."""
    from transformers import BertConfig

    return BertConfig(
        vocab_size=30522,
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=20,
        max_position_embeddings=40,
    )
