"""The meaning of words according to the words around them: counted contexts, vectors, similarity and offsets."""
