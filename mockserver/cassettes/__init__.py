"""What was recorded: cassettes, their files, how a request finds its answer. Imports no dialect and no socket."""
