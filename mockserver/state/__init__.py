"""What is remembered: values and counters under keys, and the journal. Knows no rules and no chats."""
