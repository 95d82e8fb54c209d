"""What work costs, for `--dry-run`: seconds of one core, as measured, and how steps are spread over workers.

They were measured in November 2026 with the packaged model: by the benchmark (`python -m bench NAME`) that is named
next to a figure, or else once, on one core.
"""

# The seconds of a step per unit of its `amount`.
SECONDS: dict[str, float] = {
    "compare: bases": 3e-7,  # a basis and value of the activation sample
    "compare: clusters": 5e-5,  # a point and cluster
    "compare: groups": 0.002,  # a point and number of groups
    "compare: matches": 9.5e-11,  # a pair of units and sentence
    "compare: nearest": 4.2e-11,  # a product of two neurons' activations in a sentence
    "compare: neighbours": 4.2e-11,  # the same
    "compare: scores": 1.2e-6,  # a resample, neuron and table
    "compare: shared winners": 1e-7,  # a winner
    # One run of k-means with 1,000 clusters takes 30 s, and all values take 3 s, for 30,522 tokens of 384 units.
    "psi: clusters": 30.0 / (1_000 * 30_522 * 384),  # a cluster and number of the word embeddings
    "psi: word embeddings": 3.0 / (30_522 * 384),  # a number of the word embeddings
    "meaning: words": 10.5e-6,  # a sentence of 18 words (bench meaning)
    "meaning: contexts": 11e-6,  # a sentence of 18 words (bench meaning)
    "meaning: confusion": 0.0007 / 384,  # a number of an example's states (random numbers)
    "meaning: codes": 4e-5 / 384,  # a number of a sentence's state, epoch and code
    "annotate": 0.75e-3,  # a sentence of 15 words (bench english)
    "mine: patterns": 119e-6,  # a winner (bench mine)
    "explain: neurons": 5.7e-3,  # a neuron and pole, and as much for 440 winners (bench explain)
    "topk: merge": 0.24e-6,  # a candidate, its share of the tables included (docs/scale.md)
    "mine: tables": 71e-6,  # a winner, held-out scores included (bench mine)
    "audit: neurons": 8e-3,  # a neuron, pole and data set (bench audit)
    "contrast: units": 8.5e-7,  # a unit and sentence of a contrast (bench contrast)
    "contrast: probes": 5.3e-6,  # the same (bench contrast)
    # A direction and a token of a model of width 768: 50 GFLOP/s, and 22 ns besides: estimated.
    "outputs: random directions": 53e-9,
    "outputs: units": 53e-9,
}
# What a sentence costs a stage, as a multiple of the forward pass that `--dry-run` times.
PASSES: dict[str, float] = {
    "compare/ablation": 1.0,  # for each neuron
    "compare/diversity": 1.0,  # the forward pass itself
    "compare/shift": 2.0,  # two models
    "topk": 1.1,  # bench end_to_end
    "tokens": 1.1,  # bench tokens
    "mixing": 1.3,  # bench mixing
    "psi/contextual": 1.06,  # bench psi
    "positions": 1.08,  # for each variant (bench positions)
    "meaning/offsets": 1.09,  # with the search for the words (400 sentences)
    "meaning/confusion": 1.0,
    "meaning/sentences": 1.02,
    "meaning/hashing": 1.01,
}
# The time from a job's start to its first item, and the start of more actors or tasks (docs/scale.md).
FIRST_START_S, ACTORS_START_S, TASKS_START_S = 10.6, 3.5, 0.2
