"""Fireworks' own request, and the words of its validator."""
