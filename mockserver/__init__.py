"""A deterministic stand-in for LLM APIs."""

__version__ = "0.1.0.dev0"
DISTRIBUTION = "mockserver-llm"  # what pip calls it; PyPI has other packages of the name mockserver
