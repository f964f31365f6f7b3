"""Outcomes that are no text: the vector of each prompt, what a moderation finds in it. A rule may state them."""

from collections.abc import Mapping

from mockserver.core.call import Call
from mockserver.core.draft import DocumentDraft
from mockserver.core.plan import Embeddings, Moderations
from mockserver.engine.answer import Author
from mockserver.model.embedding import dimensions_of, embedding, judgement


def document(call: Call, stated: DocumentDraft, author: Author) -> Embeddings | Moderations:
    """What is stated, or made up from the text of each prompt where nothing is."""
    return _embeddings(call, stated, author) if call.operation == "embeddings" else _moderations(call, stated, author)


def _embeddings(call: Call, stated: DocumentDraft, author: Author) -> Embeddings:
    size = call.dimensions or dimensions_of(call.model)
    own = stated.document if isinstance(stated.document, tuple) else None
    vectors = tuple(own or embedding(prompt.text, size, author.seed) for prompt in call.prompts)
    tokens = stated.usage.get("prompt", call.prompt_tokens)
    return Embeddings(stated.model or call.model, vectors, tokens, stated.headers)


def _moderations(call: Call, stated: DocumentDraft, author: Author) -> Moderations:
    scores = stated.document if isinstance(stated.document, Mapping) else {}
    results = tuple(judgement(prompt.text, scores, author.seed) for prompt in call.prompts)
    identity = author.sign(call.ids, call.fingerprint + author.mark)
    return Moderations(identity, stated.model or call.model, results, stated.headers)
