"""Find which tokens activate each neuron, by reading its first winners token by token.

    atlas tokens --out runs/docs
    ray job submit --working-dir . -- python -m jobs.tokens --out s3://bucket/run --top 50 --gpus 8

Writes token_activations/ and peaks/, and negative_tokens/ if jobs.explain has chosen hard negatives. Needs topk/
(jobs.topk), sentences/ (jobs.annotate) and the model of the run, which reads each sentence once. Site, pooling and
arithmetic are the same as in topk. If jobs.explain runs later, this job reads everything again.

What to expect: 1.10 times the processor time of the forward pass over these sentences, without the start of the workers
(`python -m bench tokens` with 250 sentences, one core shared with other work, November 2026).
"""

from jobs.options.configs import ModelPassConfig, option
from jobs.stage.main import Job


class TokenOptions(ModelPassConfig):
    """Options of `tokens` that `run` also has."""

    heading = (55, "Activations by token (tokens)")

    top: int = option(20, "Read this many winners per neuron and pole token by token", ge=1)


class TokensConfig(TokenOptions):
    """Options of `tokens`."""

    model: str = option("", "New place of the model of topk, if it has moved (default: where topk found it)")


JOB = Job("tokens", TokensConfig, "jobs.tokens.steps:tokens", __doc__)
