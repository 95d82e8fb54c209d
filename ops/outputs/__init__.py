"""What units write: the tokens that each promotes and suppresses, by the model's own head, linearised."""
