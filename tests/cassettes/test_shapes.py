"""Answers are held against the shape of their dialect, where there is one."""

from mockserver.cassettes import shapes


def test_a_dialect_may_have_a_shape_of_its_own() -> None:
    def fits(dialect: str, operation: str) -> bool:
        found = shapes.adapter(shapes.PLAIN, dialect, operation)
        assert found is not None
        chat = {"id": "a", "created": 1, "model": "m", "choices": []}
        return bool(found.validator.isinstance_python(chat))

    assert fits("openai", "chat")
    assert not fits("skytells", "chat")
    assert shapes.adapter(shapes.PLAIN, "azure", "info") is None
    assert shapes.adapter(shapes.EVENTS, "openai", "embeddings") is None
