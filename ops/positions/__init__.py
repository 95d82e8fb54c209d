"""What a transformer does without its position embeddings, or with others (Hirata 2024)."""
