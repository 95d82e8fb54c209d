from ops.english.training.evaluation import raw_text


def test_text_is_spaced_as_written():
    for words, tags, text in (
        ("I do n't know .", "PRP VBP RB VB .", "I don't know."),
        ("a well - known man", "DT RB HYPH VBN NN", "a well-known man"),
        ("he ( Tom ) 's 5 % , $ 3", "PRP -LRB- NNP -RRB- POS CD NN , $ CD", "he (Tom)'s 5%, $3"),
        ("yes - `` no '' ;", "UH : `` UH '' :", "yes - ``no'';"),
    ):
        assert raw_text(words.split(), tags.split()) == text
