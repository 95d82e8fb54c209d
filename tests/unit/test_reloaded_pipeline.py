import gc
import weakref
from typing import Any

import pytest
import spacy

from ops.reloaded_pipeline import ReloadedPipeline
from ops.sentences.pipeline import Annotator


@pytest.mark.slow
def test_a_pipeline_that_has_met_many_new_strings_is_replaced_and_freed() -> None:
    loaded: list[Any] = []

    def load() -> Any:
        pipeline = spacy.blank("en")
        loaded.append(weakref.ref(pipeline))
        return pipeline

    pipeline = ReloadedPipeline(load, 100)
    size = len(pipeline().vocab.strings)
    gc.freeze()  # as a worker does with what it has loaded
    for number in range(300):
        assert [token.text for token in pipeline()(f"word{number} and")] == [f"word{number}", "and"]
        assert len(pipeline().vocab.strings) <= size + 102
    assert len(loaded) > 2
    assert [pipeline() is not None for pipeline in loaded] == [False] * (len(loaded) - 1) + [True]


@pytest.mark.slow
def test_what_annotates_sentences_stays_bounded_with_the_same_annotations() -> None:
    annotator = Annotator("english", most_new=10)
    size = len(annotator.pipeline.vocab.strings)
    texts = [f"The man saw word{number} today." for number in range(12)]
    assert [annotator.annotate([text])[0] for text in texts] == Annotator("english").annotate(texts)
    assert len(annotator.pipeline.vocab.strings) < size + 20
