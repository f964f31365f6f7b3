"""What requests and replies of every dialect have in common: bodies, errors and their words, lists of models."""
