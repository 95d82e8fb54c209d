"""Measure how much each attention head stretches each token: the norm stretch ratio of Maeda 2024.

    atlas psi --out runs/psi --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.psi --out s3://bucket/run --preset paper --gpus 8 \\
        --model bert-base-uncased

Writes psi/vocabulary, psi/tokens, psi/clusters and psi/agreement from the word embeddings alone. If there is a corpus
(corpus/, or --corpus), it also writes psi/contextual. Figures are written as PNG, PDF and SVG below psi/figures/. Print
a head with atlas show --out runs/psi --psi 4:2.

What to expect (packaged model, float32, November 2026): one run of k-means takes 30 s of one core, all values of the
word embeddings take 3 s, and the corpus takes 1.06 times the forward pass alone. 20,000 sentences of 27 tokens took 12
min in total on two cores with ten other busy processes. In addition to the model, a worker of the corpus uses 16 bytes
for each token of the vocabulary, layer, head and value, and an additional two times that during a commit. The driver
uses five times that while it merges. Measured: 140, 300 and 760 MB; twice that for bert-base.
"""

from jobs.options.configs import SampledPassConfig, option
from jobs.stage.main import Job


class PsiConfig(SampledPassConfig):
    """Options of `psi`, and the options of `ingest` for when --corpus is given."""

    heading = (60, "Attention heads (psi)")

    clusters: int | None = option(
        None, "Cluster the vocabulary by k-means (default: in proportion, 1,000 clusters for 30,522 tokens)", ge=1
    )
    cluster_seeds: int = option(
        5, "Run k-means this many times to measure agreement; the first run is used", ge=1, le=100
    )
    static_only: bool = option(False, "Measure only the word embeddings, and read no corpus")
    group_size: int | None = option(
        None, "Shards per partial file (default: as many as keep all files below 16 GB)", ge=1
    )


JOB = Job("psi", PsiConfig, "jobs.psi.steps:psi", __doc__)
