"""The steps of `finetune`: its documents, its training."""
