"""Pages that people read: an overview of a run, and a page for each neuron."""
