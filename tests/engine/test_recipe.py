from mockserver.rules.templates import Recipe, both, fixed, together
from tests.kit.calls import call
from tests.kit.rules import moment

HERE = moment(call("hi"))
LATE = Recipe(lambda at: at.call.last_user)


def test_what_is_known_stays_known():
    made = both(fixed(2).into(lambda n: n + 1), together((fixed("a"), fixed("b"))), lambda n, texts: (n, *texts))
    assert made.known == ((3, "a", "b"),)
    assert made.make(HERE) == (3, "a", "b")


def test_what_is_known_is_made_once():
    made = []
    recipe = fixed(1).into(lambda n: made.append(n) or [n])
    assert recipe.make(HERE) is recipe.make(HERE)
    assert made == [1]


def test_one_part_that_depends_on_the_call_makes_the_whole_depend():
    for recipe, value in (
        (LATE.into(str.upper), "HI"),
        (together((fixed("a"), LATE)), ("a", "hi")),
        (both(fixed("a"), LATE, lambda a, b: a + b), "ahi"),
        (both(LATE, fixed("a"), lambda a, b: a + b), "hia"),
    ):
        assert not recipe.known
        assert recipe.make(HERE) == value


def test_nothing_together_is_known():
    assert together(()).known == ((),)
