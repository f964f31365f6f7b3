"""The engine: decides what to answer from rules, cassettes, memory and the model. Reads and writes no wire format."""
