"""Compile the code that the first run would otherwise compile; run it once after an installation.

    atlas warm_up

Runs the main job on a few paragraphs of Python's language reference and a tiny random model, in a temporary folder.
`make` does this when it sets up the environment. What to expect: one to two minutes on one core, and 20 to 30 s when
repeated.
"""

import json
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from jobs.options.configs import PRESETS, CheckedConfig
from jobs.stage.main import Job

PARAGRAPHS = 150
TEXTS = ("odd.jsonl", "even.jsonl")
# As small as a model can be, so that each step is a single item and need not wait for Ray.
MODEL: dict[str, Any] = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}


JOB = Job("warm_up", CheckedConfig, "jobs.warm_up:warm_up", __doc__)


def warm_up(options: CheckedConfig) -> None:
    """Compile the code, and print a line that says so; there are no options."""
    print("compiling for the first use of the jobs (a minute or two, once)", file=sys.stderr, flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="atlas-") as folder,
        redirect_stderr(StringIO()),
        redirect_stdout(StringIO()),
    ):
        run_all(Path(folder))


def run_all(folder: Path) -> None:
    """Run the main job and the other jobs with compiled code in a folder, with one worker, so all in this process."""
    from transformers import BertConfig

    from jobs.audit import job as audit
    from jobs.compare import job as compare
    from jobs.meaning import job as meaning
    from jobs.run import job as run
    from ops.model.random_weights import save_random

    save_random(folder / "model", BertConfig(**MODEL))
    write_texts(folder)
    of_run = {
        **PRESETS["small"], "k": 60, "k_per_dataset": 3, "near_dedup": 0.9, "subtree_root": "collapse",
        "model": str(folder / "model"), "corpus": tuple(str(folder / name) for name in TEXTS),
    }  # fmt: skip
    of_compare, of_meaning = {"part": ("neighbours",)}, {"parts": "counts"}
    for job, options in ((run, of_run), (audit, {}), (compare, of_compare), (meaning, of_meaning)):
        job.JOB.run(job.JOB.options.model_validate({"out": str(folder / "run"), "workers": 1, **options}))
    explain_what_is_plain()


def explain_what_is_plain() -> None:
    """Explain winners by one literal that all of them have, as a random model's winners may share none."""
    import numpy as np
    from scipy.sparse import csr_array

    from ops.explain.set_explainer import Known, Pool, SetExplainer
    from ops.explain.test_scores import resampling

    sentences, winners = 800, np.arange(80)
    has = csr_array((np.ones(80, np.int8), winners, np.array([0, 80])), (1, sentences))
    pool = Pool(np.zeros(1, np.bool_), np.zeros(1, np.int64), np.full(1, -1), lambda rows, which: has[:, rows])
    documents = np.arange(sentences)
    sets = SetExplainer(Known(documents, has), pool, documents, (documents % 10).astype(np.int8), sentences, 6)
    found = sets.fold(winners)
    found.asked.ranked(found.size, resampling(sentences, 0))
    found.published()


def write_texts(folder: Path) -> None:
    """Write some documents with metadata alternately to two files, so that there are two data sets."""
    from pydoc_data.topics import topics

    texts = [(name, " ".join(p.split())) for name in sorted(topics) for p in topics[name].split("\n\n")]
    rows = [{"text": text, "doc_id": name, "letter": name[0]} for name, text in texts[:PARAGRAPHS] if text]
    for place, file in enumerate(TEXTS):
        lines = [json.dumps(row) + "\n" for row in rows[place :: len(TEXTS)]]
        (folder / file).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(JOB.main())
