"""Thousands of hostile commands, checked: `python -m tests.fuzz --seed 7`, or `make fuzz SEED=7`."""

import os
import sys

if __name__ == "__main__":
    # What libraries read when they are imported: nothing is to be asked of the network.
    os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    from tests.fuzz.driver import main

    sys.exit(main())
