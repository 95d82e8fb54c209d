"""First winners and hard negatives token by token, and the words at which winners peak."""
