"""A deterministic stand-in for LLM APIs."""

__version__ = "0.1.0.dev0"
