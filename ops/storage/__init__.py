"""The files of a run: where they are stored, how they are put in place, and how tables are written."""
