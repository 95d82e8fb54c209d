"""Files of a run: where they lie, how they are put in place, and the tables' one writer."""
