"""Thousands of hostile commands, checked: `python -m tests.fuzz --seed 7`, or `make fuzz SEED=7`."""

import os

import cyclopts

if __name__ == "__main__":
    # Read by libraries when they are imported. Nothing may ask the network; forks can use neither a GPU nor threads
    # that another process has started.
    os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    os.environ.update(CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    from tests.fuzz.driver import drive

    cyclopts.run(drive)
