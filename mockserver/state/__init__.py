"""What is remembered: values and counters under keys, and the journal. Knows no rule and no chat."""
