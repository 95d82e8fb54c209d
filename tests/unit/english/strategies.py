"""Arbitrary trees and words."""

from hypothesis import strategies as st

from ops.penn import ROOT, Tree

LABELS = st.sampled_from(["S", "NP", "VP", "PP", "ADVP", "PRT", "X", "WHNP-1"])
TAGS = st.sampled_from(["NN", "VB", "DT", ",", ".", ":", "``", "''", "-LRB-", "HYPH"])
WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]).filter(lambda c: not c.isspace()),
    min_size=1,
    max_size=6,
).filter(lambda word: "-LRB-" not in word and "-RRB-" not in word)

LEAVES = st.builds(lambda tag, word: Tree(tag, word=word), TAGS, WORDS)
PHRASES = st.recursive(
    LEAVES, lambda nodes: st.builds(Tree, LABELS, st.lists(nodes, min_size=1, max_size=4)), max_leaves=25
)
TREES = st.builds(lambda nodes: Tree(ROOT, nodes), st.lists(PHRASES, min_size=1, max_size=3))
