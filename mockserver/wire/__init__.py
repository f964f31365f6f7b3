"""The JSON of answers and streams, in the shape of each provider."""
