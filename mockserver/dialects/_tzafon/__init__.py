"""Tzafon's own request, as vLLM takes it."""
