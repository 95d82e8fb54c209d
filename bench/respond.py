"""Measure how long `respond` takes for ten sentences once the model is loaded, and its memory next to the model.

    python -m bench respond --out runs/small

The sentences are drawn from the corpus. The first call compiles and reads what later calls have, so that it is not
counted: `seconds` is the median of five calls after it, `cpu` that of their processor time, and `forward` that of
one forward pass, of which a call makes two. `memory_mb` is the highest resident memory of these calls without that of a
process that has the same model and nothing else.
"""

from statistics import median

import numpy as np

from bench.harness import Result
from bench.resources import forget_peak, resident, timed
from jobs.respond.job import TOP
from jobs.respond.steps import Responder
from jobs.run_folder.run import RunReader
from jobs.stage.checks import model_of_topk
from ops.corpus.read_shard import read_rows
from ops.model.activations import ScoreOptions, Scorer
from ops.model.tokenizer import Tokenizer
from ops.respond.measure import Common
from ops.sampling import draw

SENTENCES, CALLS = 10, 5


def respond_to(responder: Responder, texts: list[str]) -> int:
    """Do all that `atlas respond` does with some texts, and return the number of listed neurons."""
    own, neurons = responder.read(texts), responder.corpus.neurons
    common = Common(len(neurons), responder.corpus.seed)
    measured = responder.measure(own, responder.score(own), common)
    facts = responder.facts(own, measured, np.arange(len(neurons)), TOP)
    return sum(len(text["rows"]) for text in facts)


def measure(out: str) -> Result:
    """Respond to sentences of a run.

    Args:
        out: a run that jobs.topk has finished.
    """
    run = RunReader(out, create=False)
    ids = draw(run.require("ingest")["counts"]["sentences"], SENTENCES, 0)
    texts = [text for table in read_rows(run.store, run.shards(), ids, ["text"]) for text in table["text"].to_pylist()]
    facts = model_of_topk(run)
    tokenizer = Tokenizer(facts)
    model = Scorer(facts, ScoreOptions())
    model.score(tokenizer.encode(texts))
    before = resident()["VmRSS"]
    responder = Responder(run)
    listed = respond_to(responder, texts)
    forget_peak()
    own = responder.reader.read(texts)
    passes, calls = [], []
    for _ in range(CALLS):
        passes.append(timed(responder.score, own)[0].clock)
        took, again = timed(respond_to, responder, texts)
        assert again == listed > 0
        calls.append(took)
    seconds, cpu = zip(*calls, strict=True)
    weights = sum(w.nbytes for w in model.reader.model.parameters())
    return {
        "neurons": len(responder.corpus.neurons), "sample": len(responder.corpus.sample.ids), "texts": len(texts),
        "listed": listed, "seconds": round(median(seconds), 3), "slowest": round(max(seconds), 3),
        "cpu": round(median(cpu), 3), "forward": round(median(passes), 3),
        "memory_mb": round((resident()["VmHWM"] - before - weights) / 1e6), "weights_mb": round(weights / 1e6),
    }  # fmt: skip
