"""Tokenization: a text in the tokens of a model, and back. The dialect asks the call's tokenizer."""

from mockserver.kinds.kind import OF_TOOLS, Question

TOKENIZATION = tuple(
    Question(
        name=name,
        silent=True,
        takes_text=False,
        withheld=OF_TOOLS,
    )
    for name in ("tokenize", "detokenize")
)
OPERATIONS = TOKENIZATION
