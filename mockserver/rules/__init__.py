"""Rules files: schema, loading, matching, answers, templates, near misses and lint."""
