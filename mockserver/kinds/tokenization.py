"""Tokenization: a text in the tokens of a model, and back. The dialect asks the call's tokenizer."""

from mockserver.kinds.kind import MCP_ANSWER_KEYS, Question

TOKENIZATION = tuple(
    Question(
        name=name,
        silent=True,
        takes_text=False,
        withheld=MCP_ANSWER_KEYS,
    )
    for name in ("tokenize", "detokenize")
)
OPERATIONS = TOKENIZATION
