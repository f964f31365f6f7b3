"""Azure AI's own request."""
