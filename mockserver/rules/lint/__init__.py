"""Lint: remarks on rules that may not be as intended, and reasons why no model could give an answer."""
