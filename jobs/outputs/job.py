"""Find the tokens that each unit promotes and suppresses through the model's own output head.

    atlas outputs --out runs/gpt2
    atlas outputs --out runs/gpt2 --check 200
    ray job submit --working-dir . -- python -m jobs.outputs --out s3://bucket/run --gpus 8

Writes outputs/tokens, outputs/neurons, outputs/controls, with --check outputs/checks, and a figure. Needs corpus/ and
topk/ (jobs.topk), and the model of the run: a decoder, or an encoder with a masked-word head. The head is approximated
as linear around the mean state of the corpus's tokens, and the layers between a unit and the head are ignored. The
control is random directions in each layer.
"""

from jobs.options.configs import PlacementConfig, UnitsConfig, option
from jobs.stage.main import Job


class OutputsConfig(UnitsConfig, PlacementConfig):
    """Options of `outputs`."""

    heading = (55, "Promoted tokens (outputs)")

    sentences: int = option(
        1_000, "Linearise the head around the mean state of this many sentences, a uniform sample", ge=1
    )
    random: int = option(300, "Draw N random directions per layer as a control; the smallest p is 1/(N + 1)", ge=19)
    check: int = option(
        0, "Raise this many units, drawn from all layers, by one standard deviation in real sentences", ge=0
    )
    check_sentences: int = option(32, "Raise them in this many sentences of the corpus", ge=1)


JOB = Job("outputs", OutputsConfig, "jobs.outputs.steps:outputs", __doc__)
