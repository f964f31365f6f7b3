"""Record and replay: the cassettes of a run, what is played from them, and the providers whose answers they keep."""
