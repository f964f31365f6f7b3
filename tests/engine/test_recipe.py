from mockserver.rules.templates import Compiled, combined, constant, gathered
from tests.kit.calls import call
from tests.kit.rules import scope

HERE = scope(call("hi"))
LATE = Compiled(lambda at: at.call.last_user)


def test_what_is_known_stays_known():
    made = combined(
        constant(2).into(lambda n: n + 1), gathered((constant("a"), constant("b"))), lambda n, texts: (n, *texts)
    )
    assert made.known == ((3, "a", "b"),)
    assert made.make(HERE) == (3, "a", "b")


def test_what_is_known_is_made_once():
    made = []
    compiled = constant(1).into(lambda n: made.append(n) or [n])
    assert compiled.make(HERE) is compiled.make(HERE)
    assert made == [1]


def test_one_part_that_depends_on_the_call_makes_the_whole_depend():
    for compiled, value in (
        (LATE.into(str.upper), "HI"),
        (gathered((constant("a"), LATE)), ("a", "hi")),
        (combined(constant("a"), LATE, lambda a, b: a + b), "ahi"),
        (combined(LATE, constant("a"), lambda a, b: a + b), "hia"),
    ):
        assert not compiled.known
        assert compiled.make(HERE) == value


def test_nothing_together_is_known():
    assert gathered(()).known == ((),)
