"""The pages of a run: written as a site by `report`, served by `browse`."""
