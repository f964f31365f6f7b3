"""The engine: decides what to answer from rules, cassettes, memory and the model. Knows no wire format."""
