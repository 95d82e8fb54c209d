"""The local copies of the annotated sentences that machines keep while a stage reads them."""

from functools import partial

from jobs.engine.machines import on_every_machine
from jobs.stage.runner import Stage
from ops.sentences.local_copy import drop_sentences


def drop_copies(stage: Stage) -> None:
    """Remove every machine's copy of the annotated sentences, once the stage's tables are in place.

    The copies stay if partial files are kept, and where the stage is only planned.
    """
    if stage.is_planned or stage.keep_partials:
        return
    on_every_machine(partial(drop_sentences, stage.run.require("annotate")["fingerprint"]))
