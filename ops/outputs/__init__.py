"""The outputs of units: the tokens that each unit promotes and suppresses, by the model's own linearised head."""
