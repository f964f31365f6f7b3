"""What requests and replies of every dialect have in common: bodies, errors and their messages, lists of models."""
