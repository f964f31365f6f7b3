"""Fault matrices: a program is run once for each fault, and what it did is judged."""
