"""Texts that are made for each call: sandboxed templates over plain, read-only values."""
