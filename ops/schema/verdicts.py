"""The verdicts of `explanations/`, as the table spells them; `ops.explain.verdict` says when each applies."""

RULE, TENDENCY, SOURCE, UNCONFIRMED, NONE, WEAK = VERDICTS = (
    "rule", "tendency", "source", "unconfirmed", "none", "weak"
)  # fmt: skip
