"""Web pages about a run: an overview, and a page for each neuron."""
