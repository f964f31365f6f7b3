"""English words that mean the same."""

from mockserver.model.wording import SYNONYMS, keys


def test_each_group_has_several_words_that_share_a_key() -> None:
    for group in SYNONYMS:
        first, *others = group.split()
        assert others
        assert all(f"~{first}" in keys(word) for word in (first, *others))
