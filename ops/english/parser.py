"""The parser as a spaCy pipe: sequence labelling over shared vectors (Gómez-Rodríguez and Vilares 2018)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from spacy.attrs import IS_SPACE  # type: ignore[import-not-found]
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.util import registry
from spacy.vocab import Vocab
from thinc.api import Model, chain

from ops.arrays import Float32s, Int64s
from ops.english.labelling import best_labels
from ops.english.labels import TreeLabels, bracketed
from ops.english.sentences import fill_boundaries, register_extension, sentence_spans, store_tree

UNTAGGED = "XX"


# The first token, the token after the last, the tokens that are not white space, and their labels.
Sentence = tuple[int, int, list[int], TreeLabels]


@registry.architectures("atlas.ConstituencyHeads.v1")  # type: ignore[untyped-decorator]
def constituency_heads(
    tok2vec: Model[list[Doc], list[Float32s]], width: int, outputs: int
) -> Model[list[Doc], Float32s]:
    """Return a linear layer with the concatenated four heads: change of depth, depth, phrase, unary chain.

    Its output is the scores of the heads, `[tokens of all Docs, outputs]`.
    """
    parameters: Any = {"W": np.zeros((outputs, width), np.float32), "b": np.zeros(outputs, np.float32)}
    heads: Model[list[Float32s], Float32s] = Model(
        "constituency_heads", _score, dims={"nI": width, "nO": outputs}, params=parameters
    )
    model: Model[list[Doc], Float32s] = chain(tok2vec, heads)
    model.set_ref("heads", heads)
    return model


@Language.factory("atlas_constituency", assigns=["doc.user_data"], requires=["token.tag"])
def make_constituency(nlp: Language, name: str, model: Any, phrases: list[str], unaries: list[str]) -> "Constituency":
    """Return the pipe; `phrases` and `unaries` name the outputs of the last two heads in order."""
    return Constituency(nlp.vocab, model, name, phrases, unaries)


class Constituency(TrainablePipe):  # type: ignore[misc]
    """Sets `sent._.parse_string` of each sentence, one leaf per token that is not white space.

    A Doc without sentence boundaries is treated as one sentence. The model is trained by `jobs.train_english`.
    """

    def __init__(self, vocab: Vocab, model: Any, name: str, phrases: Sequence[str], unaries: Sequence[str]) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.cfg: dict[str, Any] = {}
        self.phrases = list(phrases)
        self.unaries = list(unaries)
        register_extension()

    def predict(self, docs: Iterable[Doc]) -> list[list[Sentence]]:
        """Return the labels of each sentence of each Doc; a sentence of only white space is skipped."""
        docs = list(docs)
        by_doc: list[list[tuple[int, int, Int64s]]] = []
        rows: list[Int64s] = []
        before = 0
        for doc in docs:
            words = doc.to_array(IS_SPACE) == 0
            spans = [(start, end, start + np.flatnonzero(words[start:end])) for start, end in sentence_spans(doc)]
            by_doc.append([sentence for sentence in spans if len(sentence[2])])
            rows.extend(before + places for _, _, places in by_doc[-1])
            before += len(doc)
        if not rows:
            return [[] for _ in docs]
        scores = self.model.predict(docs)[np.concatenate(rows)]
        labels = iter(best_labels(scores, [len(places) for places in rows], self.phrases, self.unaries))
        return [[(start, end, places.tolist(), next(labels)) for start, end, places in spans] for spans in by_doc]

    def set_annotations(self, docs: Iterable[Doc], scores: Sequence[Sequence[Sentence]]) -> None:
        """Store the tree of each sentence, with the Doc's tags."""
        for doc, sentences in zip(docs, scores, strict=True):
            fill_boundaries(doc)
            tokens = list(doc)
            for start, end, places, labels in sentences:
                words = [tokens[place].text for place in places]
                tags = [tokens[place].tag_ or UNTAGGED for place in places]
                store_tree(doc, start, end, bracketed(words, tags, labels))


def _score(
    model: Model[list[Float32s], Float32s], vectors: Sequence[Float32s], is_train: bool
) -> tuple[Float32s, Callable[[Float32s], list[Float32s]]]:
    # Through torch, which respects the number of threads that the caller has set.
    together, weights, bias = map(
        torch.from_numpy, (np.concatenate(vectors), model.get_param("W"), model.get_param("b"))
    )
    return torch.nn.functional.linear(together, weights, bias).numpy(), lambda gradient: []
