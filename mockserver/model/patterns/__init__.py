"""Regular expressions of clients: read into trees, texts written for them, and tried within a time that is set."""
