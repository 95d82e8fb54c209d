"""Which units separate two groups of sentences, next to rotated axes, permuted labels and words."""
