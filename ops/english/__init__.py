"""The English pipeline that comes with the project: Penn tags and constituency trees, on a CPU.

Importing this package registers its factories, so that `spacy.load` opens the pipeline's folder.
"""

from pathlib import Path

import spacy
from spacy.language import Language

from ops.english import encoder, parser
from ops.english.sentences import register_extension

__all__ = ["FOLDER", "encoder", "load", "parser"]

FOLDER = Path(__file__).parent / "pipeline"

register_extension()


def load() -> Language:
    """Return the shipped pipeline: `token.tag_` and, for each sentence, `sent._.parse_string`.

    >>> sentence = next(load()("I sleep.").sents)
    >>> sentence._.parse_string
    '(ROOT (S (NP (PRP I)) (VP (VBP sleep)) (. .)))'
    """
    return spacy.load(FOLDER)
