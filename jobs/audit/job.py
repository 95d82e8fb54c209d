"""Test whether the explanation of a neuron from one data set also holds in the other data sets.

    atlas audit --out runs/docs --preset small
    ray job submit --working-dir . -- python -m jobs.audit --out s3://bucket/run

Learns a score card for each neuron and pole in every data set of the corpus, and tests how well it predicts the winners
in all other data sets. Reads topk_by_dataset/ and the tables of jobs.explain; no model is run. Writes
audit/portability/ (a row per neuron and pair of data sets), audit/patterns/ (a literal across data sets),
audit/neurons/ (a neuron's illusion and verdict), the controls of each table, and figures. After Bolukbasi and others
2021.
"""

from jobs.options.configs import StageConfig, UnitsConfig, option
from jobs.stage.main import Job


class AuditConfig(UnitsConfig):
    """Options of `audit`."""

    heading = (60, "Comparison of data sets (audit)")

    winners: int = option(200, "Use at most this many winners per data set, the first by rank", ge=20)
    no_controls: bool = option(
        False, "Skip the controls: data sets permuted over documents, and two halves of each data set"
    )


AUDIT_OPTIONS = tuple(AuditConfig.model_fields.keys() - StageConfig.model_fields.keys())


JOB = Job("audit", AuditConfig, "jobs.audit.steps:audit", __doc__)
