"""Secrets in recordings: found, replaced before anything is written, and masked in text for people."""
