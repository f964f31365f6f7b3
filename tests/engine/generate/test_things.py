"""Things and remarks that are made up."""

from mockserver.core.seed import Seed
from mockserver.model.prose.things import ADJECTIVES, NOUNS, remark, thing


def test_a_thing_is_two_words_of_the_tables() -> None:
    found = {thing(Seed(at).stream("x")) for at in range(300)}
    assert len(found) > 200
    assert all(one.split()[0] in ADJECTIVES and one.split()[1] in NOUNS for one in found)
    assert len(set(NOUNS)) == len(NOUNS)


def test_a_remark_is_a_whole_sentence() -> None:
    for at in range(100):
        said = remark(Seed(at).stream("x"))
        assert said[0].isupper()
        assert said.endswith(".")
        assert "{" not in said
