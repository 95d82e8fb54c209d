"""The steps of the stages: what their items are, which files say that one is done, and the workers that do them."""
