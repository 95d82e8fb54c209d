"""What words mean by what stands around them: counted contexts, their vectors, similarity and offsets."""
