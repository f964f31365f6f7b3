import pytest
from pydantic import ValidationError

from mockserver.dialects._documents import AZURE_EMBEDDING, EMBEDDING

GOOD = [
    {"input": "a", "model": "m"},
    {"input": ["a"] * 2048, "model": "m", "dimensions": 1, "user": "u", "encoding_format": "base64"},
    {"input": [0, 1], "model": "m", "dimensions": None, "user": None, "encoding_format": None},
    {"input": [[0], [1]], "model": "m"},
]


@pytest.mark.parametrize("body", GOOD)
def test_what_is_published_is_valid(body):
    assert EMBEDDING.validate_python(body) == body


AZURE = [
    {"input": ["a", ""]},
    *({"input": ["a"], "encoding_format": name} for name in ("base64", "binary", "float", "int8", "ubinary", "uint8")),
    *({"input": ["a"], "input_type": name} for name in ("text", "query", "document")),
    {"input": ["a"], "model": "m", "dimensions": 7},
]


@pytest.mark.parametrize("body", AZURE)
def test_what_azure_publishes_is_valid(body):
    assert AZURE_EMBEDDING.validate_python(body) == body


@pytest.mark.parametrize("body", [{}, {"input": "a"}, {"input": []}, {"input": ["a"], "input_type": "x"}])
def test_what_azure_does_not_take(body):
    with pytest.raises(ValidationError):
        AZURE_EMBEDDING.validate_python(body)
