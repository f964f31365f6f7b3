"""The text side of the model: prose, answers in the format that a prompt asks for, passages, what tools returned."""
