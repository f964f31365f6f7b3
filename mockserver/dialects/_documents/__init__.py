"""Requests and replies that are no conversation: embeddings and moderations."""
