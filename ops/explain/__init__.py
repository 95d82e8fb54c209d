"""What each neuron responds to, in words: literals, two small models of them, and their controls."""
