"""The behaviour of a transformer without its position embeddings, or with others (Hirata 2024)."""
