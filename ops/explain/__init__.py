"""What each neuron responds to, said in one sentence: literals, two small models of them, and their controls."""
