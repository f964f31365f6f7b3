"""What is told of episodes that nobody asked for."""

from mockserver.reports.failures import Tape, summary, unplayed


def test_a_test_is_told_of_its_cassette() -> None:
    [problem] = unplayed(Tape("cassettes/a.yaml", 9, (2, 7)))
    assert problem.headline == (
        "cassettes/a.yaml: 7 of 9 episodes not played: #1, #3 to #6, #8 to #9; record it anew"
        " (--mockserver-record=all), or see why they are no longer asked for"
    )
    assert list(unplayed(Tape("cassettes/a.yaml", 1, (1,)))) == []
    assert list(unplayed(Tape("cassettes/a.yaml", 0, ()))) == []


def test_a_run_is_told_of_what_no_test_has_played() -> None:
    tapes = (
        Tape("b.yaml", 3, (1,)),
        Tape("a.yaml", 1, ()),
        Tape("b.yaml", 4, (4,)),  # recorded meanwhile: what came later was not there for all
        Tape("whole.yaml", 2, (1,)),
        Tape("whole.yaml", 2, (2,)),
    )
    assert list(summary(tapes)) == [
        "a.yaml: 1 of 1 episode not played: #1",
        "b.yaml: 2 of 3 episodes not played: #2 to #3",
    ]


def test_many_are_cut_short() -> None:
    assert next(iter(summary([Tape("a.yaml", 40, tuple(range(1, 41, 2)))]))).endswith("#18, #20, ...")
