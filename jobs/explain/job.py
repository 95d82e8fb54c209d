"""Explain every neuron in words, without a language model, and score it on unseen documents.

    atlas explain --out runs/docs --preset small
    ray job submit --working-dir . -- python -m jobs.explain --out s3://bucket/run

Writes explanations/, explanation_terms/, families/, examples/ and explain/controls/, with a figure. Reads only finished
tables (topk/, sentences/, activations/, patterns/ and profiles/) and the token table of the model.
"""

from jobs.options.configs import StageConfig, UnitsConfig, option
from jobs.stage.main import Job


class ExplainConfig(UnitsConfig):
    """Options of `explain`."""

    heading = (60, "Explanations (explain)")

    literals: int = option(
        8, "Use at most this many literals in a neuron's activation model, nuisance literals not counted", ge=1, le=32
    )
    card_literals: int = option(
        6, "Use at most this many literals in a pole's score card, nuisance literals not counted", ge=1, le=16
    )
    no_controls: bool = option(False, "Skip the controls of each layer: a rotated basis and shuffled activations")


EXPLAIN_OPTIONS = tuple(ExplainConfig.model_fields.keys() - StageConfig.model_fields.keys())


JOB = Job("explain", ExplainConfig, "jobs.explain.steps:explain", __doc__)
