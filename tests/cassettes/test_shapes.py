"""Answers are held against the shape of their dialect, where there is one."""

from mockserver.cassettes import verify


def test_a_dialect_may_have_a_shape_of_its_own() -> None:
    def fits(dialect: str, operation: str) -> bool:
        found = verify.adapter(verify.PLAIN, dialect, operation)
        assert found is not None
        chat = {"id": "a", "created": 1, "model": "m", "choices": []}
        return bool(found.validator.isinstance_python(chat))

    assert fits("openai", "chat")
    assert not fits("skytells", "chat")
    assert verify.adapter(verify.PLAIN, "azure", "info") is None
    assert verify.adapter(verify.EVENTS, "openai", "embeddings") is None
