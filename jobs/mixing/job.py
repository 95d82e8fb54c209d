"""Measure, over the complete corpus, how much attention mixes tokens and how much it preserves them.

    atlas mixing --out runs/docs --preset small --corpus pydocs --limit 5000
    atlas mixing --out runs/large --sentences 20000
    ray job submit --working-dir . -- python -m jobs.mixing --out s3://bkt/run --preset paper --gpus 8 \\
        --model bert-base-uncased

Writes mixing/ratios, mixing/lengths, mixing/norms, mixing/figures and, with --per-token, mixing/tokens, after Kobayashi
2021. With --corpus, it reads the sources first (jobs.ingest). Sequences are single sentences, or (--pack) consecutive
sentences of a document within a shard, between one [CLS] and one [SEP]. For pre-LN decoders (gpt2), only the stages
attn and attn_res are measured.

What to expect: the job takes 1.3 times the forward pass alone. With `sample` this is 0.34 ms per token on one core
(November 2026, `python -m bench mixing`), so about 3 core-minutes for 20,000 sentences; a worker uses 1.2 GB. For
`sample`, the mean mixing ratio after LayerNorm is between 20 and 33 %, depending on the layer.
"""

from jobs.options.configs import SampledPassConfig, option
from jobs.stage.main import Job


class MixingConfig(SampledPassConfig):
    """Options of `mixing`, and the options of `ingest` for when --corpus is given."""

    heading = (60, "Attention mixing (mixing)")

    pack: int = option(
        0, "Pack consecutive sentences into sequences of at most this many tokens; 0: one sentence each", ge=0
    )
    mask_rate: float = option(0.12, "Replace this share of the tokens by the mask token", ge=0, le=1)
    per_token: bool = option(False, "Also write the ratios of every token (mixing/tokens)")


JOB = Job("mixing", MixingConfig, "jobs.mixing.steps:mixing", __doc__)
