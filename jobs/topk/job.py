"""Find every neuron's most activating sentences in one pass over the corpus.

    atlas topk --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.topk --out s3://bucket/run --preset paper --gpus 8 \\
        --model bert-base-uncased

Writes topk/, neurons/, activations/ and unscored/, and with --k-per-dataset topk_by_dataset/. With --corpus, it reads
the sources first (jobs.ingest).

What to expect (two cores, float32, November 2026): the job is nearly as fast as the model's forward pass alone, merge
and tables included (`python -m bench end_to_end`, docs/scale.md). For the packaged model this is 190 sentences per
second with AVX2 and 360 with AVX-512. The start takes 11 s.
"""

from typing import Annotated, Literal

from pydantic import Field

from jobs.options.configs import CorpusPassConfig, Texts, option
from jobs.stage.main import Job
from ops.model.pooling import Pool
from ops.model.sites import Site


class TopkConfig(CorpusPassConfig):
    """Options of `topk`, and the options of `ingest` for when --corpus is given."""

    heading = (30, "Most activating sentences (topk)")

    k: int = option(100, "Keep this many sentences per neuron and pole", ge=1)
    k_per_dataset: int = option(
        0, "Also keep this many within each data set that has 20 times as many sentences; 0: none", ge=0
    )
    poles: Literal["top", "bottom", "both"] = option("both", "Keep the highest activations, the lowest, or both")
    site: Site = option(
        "hidden", "Read the hidden states, the MLP after its activation function, or the attention output"
    )
    dictionary: Texts = option(
        (), "Score the features of this dictionary, LAYER=PATH or LAYER=rotated:SEED; repeatable"
    )
    feature_block: Annotated[int, Field(ge=1)] | Literal["auto"] = option(
        "auto", "Encode this many features at a time; auto: as many as free memory allows"
    )
    pool: Pool = option("mean", "Combine the tokens of a sentence into one value (default: mean; sparse features: max)")
    special_tokens: Literal["include", "exclude"] = option(
        "include", "Count tokens that the tokenizer adds (default: include; dictionaries of a decoder: exclude)"
    )
    activation_sample: int = option(10_000, "Keep the activations of all neurons for this many sentences", ge=0)
    no_sharing: bool = option(False, "Do not share thresholds between workers: same results, larger partial files")
    pilot: int = option(4_096, "Set the edges of the histograms from a pilot of at most this many sentences", ge=1)


JOB = Job("topk", TopkConfig, "jobs.topk.steps:topk", __doc__)
