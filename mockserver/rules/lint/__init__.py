"""Lint: remarks on rules that may not be as intended, and on answers that no model could give."""
