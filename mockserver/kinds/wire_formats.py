"""In which wire format a dialect answers an operation: a name for how answers look, whoever sends them."""

# The wire formats of operations that most dialects answer in another, by dialect.
_FORMATS = {
    ("anthropic", "chat"): "messages",
    ("anthropic", "completions"): "completion",
    ("cohere", "chat"): "cohere_chat",
    ("cohere", "completions"): "generations",
    ("cohere", "embeddings"): "vectors_by_type",
    ("cohere", "models"): "named_models",
    ("cohere", "model"): "named_model",
    ("gemini", "chat"): "contents",
    ("gemini", "embeddings"): "vectors",
    ("gemini", "images"): "contents",
    ("gemini", "speech"): "contents",
    ("gemini", "models"): "named_models",
    ("gemini", "model"): "named_model",
    ("bedrock", "chat"): "converse",
    ("bedrock", "embeddings"): "invoked",
    ("bedrock", "moderations"): "guarded",
    ("bedrock", "rerank"): "ranked",
    ("bedrock", "models"): "listed_models",
    ("bedrock", "model"): "listed_model",
    ("mistral", "completions"): "chat",
    ("mistral", "moderations"): "judged",
    ("ollama", "chat"): "lines",
    ("ollama", "completions"): "lines",
    ("ollama", "embeddings"): "bare_vectors",
    ("ollama", "models"): "named_models",
    ("ollama", "model"): "shown_model",
}
_INVOKING = ("/invoke", "/invoke-with-response-stream")  # the ends of paths where each model has a format of its own


def find_format(dialect: str, operation: str, path: str = "") -> str:
    """Return the format of the answers: for most operations their name, as dialects agree on it.

    `path` is that of the request: where InvokeModel of Bedrock answers, and below `/v1` of Ollama, formats are others'.
    """
    if dialect == "bedrock" and path.endswith(_INVOKING):
        return "invoked"
    if dialect == "ollama" and "/v1/" in path:
        return "messages" if path.endswith("/messages") else operation
    return _FORMATS.get((dialect, operation), operation)
