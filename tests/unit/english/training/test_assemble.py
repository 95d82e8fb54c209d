import spacy
from spacy.tokens import Doc

from ops.english.training.evaluation import sentence_of_doc
from ops.english.training.model import assemble, disassemble
from ops.penn import write
from tests.unit.english import small


def test_the_pipeline_gives_what_the_network_gives():
    network = small.network()
    nlp = assemble(network, {"name": "small", "sources": ["none"]})
    for sentence in small.sentences():
        (expected,) = network.parse([sentence])
        found = sentence_of_doc(nlp(Doc(nlp.vocab, words=sentence.words)))
        assert found.tags == expected.tags
        assert write(found.tree) == write(expected.tree)
    doc = nlp(Doc(nlp.vocab, words=["the", " ", "dog", "\n", "zzz"]))
    assert [token.tag_ == "_SP" for token in doc] == [False, True, False, True, False]


def test_it_is_saved_with_its_meta_and_the_network_comes_back_out_of_it(tmp_path):
    network = small.network()
    nlp = assemble(network, {"name": "small", "sources": ["none"]})
    nlp.to_disk(tmp_path)
    saved = spacy.load(tmp_path)
    assert (saved.meta["name"], saved.meta["sources"]) == ("small", ["none"])
    assert saved.pipe_names == ["tok2vec", "tagger", "constituency"]
    assert saved.get_pipe("tagger").labels == nlp.get_pipe("tagger").labels
    again = disassemble(nlp)
    assert again.labels == network.labels
    weights = again.state_dict()
    assert weights.keys() == network.state_dict().keys()
    assert all(weight.equal(weights[name]) for name, weight in network.state_dict().items())
