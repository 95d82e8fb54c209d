"""What words mean, judged by the words around them: counted contexts, their vectors, similarity and offsets."""
