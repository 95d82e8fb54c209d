from ops.penn_tags import PUNCTUATION_TAGS, TAG_CLASSES, tag_class


def test_every_class_is_reached():
    found = {tag: tag_class(tag) for tag in ("NN", "NNP", "VBD", "VB", "JJ", "JJS", "RB", "MD", "N", "")}
    assert set(found.values()) == set(TAG_CLASSES)
    assert found["NNP"] == "noun"
    assert found["MD"] == found["N"] == "other"


def test_symbols_and_words_are_no_punctuation():
    assert {",", "-LRB-", "HYPH"} <= PUNCTUATION_TAGS
    assert not {"SYM", "$", "UH", "NN"} & PUNCTUATION_TAGS
