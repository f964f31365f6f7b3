"""What was recorded: cassettes, their files, how a request finds its answer. Knows no dialect and no socket."""
