"""The journal numbers rows and keeps the latest, within bounds of count and bytes."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Plan, Usage
from mockserver.core.row import BARE, MAX_KEPT, UNWEIGHED, Row
from mockserver.state.journal import PAGES_IN_FULL, Journal
from mockserver.state.tally import MAX_SOURCES, OTHER
from tests.kit.calls import call

PATH = "/v1/chat/completions"


def opened(journal: Journal, namespace: str = "default", *, body: bytes = b"") -> Row:
    """One request that is being answered."""
    return journal.open(HttpRequest("POST", PATH, body=body, namespace=namespace), "openai")


def served(journal: Journal, namespace: str = "default", *, body: bytes = b"", sent: bytes = b"") -> Row:
    """One request, from its beginning to its end."""
    row = opened(journal, namespace, body=body)
    row.plan = Plan(Usage(3, 4), "rule r.yaml:1 a")
    row.note_sent(sent)
    journal.close(row, "complete")
    return row


def numbers(journal: Journal, namespace: str = "default") -> list[int]:
    return [row.seq for row in journal.list_rows(namespace)]


def test_rows_are_numbered_and_closed() -> None:
    closed: list[Row] = []
    journal = Journal(on_close=closed.append)
    first = opened(journal)
    second = opened(journal, "mine")
    journal.close(first, "complete")
    assert [row.seq for row in journal] == [1, 2]
    assert closed == [first]
    assert (first.ended, second.ended) == ("complete", "")
    assert 0 <= first.elapsed < 5


def test_only_the_latest_are_kept() -> None:
    journal = Journal(count=3)
    rows = [served(journal, body=b"x") for _ in range(10)]
    assert numbers(journal) == [8, 9, 10]
    assert len(journal) == 3
    assert rows[0].body == b"x"  # for those who look at it still


def test_a_journal_may_keep_nothing() -> None:
    journal = Journal(count=0)
    assert served(journal, body=b"x").body == b""
    assert (len(journal), journal.held, journal.count_hits("default")) == (0, 0, {"rule r.yaml:1 a": 1})


def test_of_too_many_bytes_the_oldest_go() -> None:
    journal = Journal(size=3 * BARE)
    served(journal, body=b"x" * 10)
    served(journal, body=b"x" * 10)
    served(journal, body=b"x" * BARE)
    assert numbers(journal) == [3]
    assert journal.held <= 3 * BARE


def test_what_is_larger_than_all_the_room_is_not_kept() -> None:
    journal = Journal(size=BARE)
    served(journal, body=b"x")
    assert (numbers(journal), journal.held) == ([], 0)


def test_an_open_row_that_grows_too_large_is_let_go() -> None:
    journal = Journal(size=100_000)
    row = opened(journal)
    for _ in range(1_000):
        row.note_sent(b"x" * 1_000)
    assert (row.sent, row.size, journal.held) == ([], 1_000_000, 0)
    journal.close(row, "complete")
    assert (len(journal), journal.held) == (0, 0)


def test_namespaces_keep_their_own_and_give_way_when_idle() -> None:
    journal = Journal(size=10 * BARE)
    for at in range(PAGES_IN_FULL + 1):
        for _ in range(9):
            served(journal, f"n{at}")
    assert len(numbers(journal, "n0")) < 9 == len(numbers(journal, f"n{PAGES_IN_FULL}"))
    assert journal.held <= 10 * BARE * PAGES_IN_FULL


def test_hits_outlive_the_calls_but_not_a_clearing() -> None:
    journal = Journal()
    served(journal, "mine")
    served(journal, "yours")
    assert journal.forget_calls("mine") == 1
    assert (numbers(journal, "mine"), journal.count_hits("mine")) == ([], {"rule r.yaml:1 a": 1})
    journal.forget_namespace("mine")
    journal.forget_namespace("never seen")
    assert (journal.count_hits("mine"), numbers(journal, "yours")) == ({}, [2])


def test_what_is_cleared_while_it_is_open_ends_nowhere() -> None:
    journal = Journal()
    row = opened(journal, "mine")
    journal.forget_namespace("mine")
    row.note_sent(b"x")
    journal.close(row, "complete")
    assert (len(journal), journal.held, journal.count_hits("mine")) == (0, 0, {})


def test_a_thread_may_look_while_another_one_answers() -> None:
    journal = Journal(count=20)
    over = Event()
    seen = set[int]()

    def look() -> None:
        while not over.is_set():
            seen.add(len(journal))
            assert 0 <= journal.open_calls <= 1
            assert all(row.seq <= journal.last for row in journal)

    with ThreadPoolExecutor() as pool:
        looking = pool.submit(look)
        for _ in range(2_000):
            served(journal, body=b"x" * 100)
        over.set()
        looking.result()
    assert max(seen) <= 21  # the oldest goes once the next has come
    (sums,) = journal.tally.ways.values()
    assert (sums.count, sums.prompt, journal.count_hits("default")["rule r.yaml:1 a"]) == (2_000, 6_000, 2_000)
    assert journal.held == sum(row.weight for row in journal)


def test_a_row_is_found_by_its_number() -> None:
    journal = Journal(count=1)
    served(journal, "a")
    last = served(journal, "a")
    served(journal, "b")
    assert (journal.find(1), journal.find(2), journal.find(9)) == (None, last, None)


def test_the_call_goes_when_it_is_over() -> None:
    journal = Journal()
    assert served(journal).call is None


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("open", "note", "close", "clear")),
        st.integers(0, 5),
        st.integers(0, 20_000),
        st.sampled_from("abcdef"),
        st.booleans(),  # somebody looks then
    ),
    max_size=60,
)


@given(STEPS, st.sampled_from((1, 3, 10)), st.sampled_from((3_000, 30_000)))
def test_it_stays_within_its_bounds_whatever_happens(
    steps: list[tuple[str, int, int, str, bool]], most: int, room: int
) -> None:
    journal, rows = Journal(count=most, size=room), list[Row]()
    closed = 0
    for step, at, size, namespace, looks in steps:
        if step == "open":
            rows.append(opened(journal, namespace, body=b"x" * size))
        elif step == "clear":
            journal.forget_namespace(namespace)
        elif rows and step == "note":
            rows[at % len(rows)].note_sent(b"x" * size)
        elif rows:
            journal.close(rows.pop(at % len(rows)), "complete")
            closed += 1
        if not looks:
            continue
        assert (journal.open_calls, sum(sums.count for sums in journal.tally.ways.values())) == (len(rows), closed)
        kept = list(journal)
        weighed = sum(len(row.body) + sum(len(data) for _, data in row.sent) for row in kept)
        assert all(len(numbers(journal, name)) <= most for name in "abcdef")
        assert journal.held == sum(row.weight for row in kept) <= room * PAGES_IN_FULL
        assert weighed <= journal.held + UNWEIGHED * len(kept)
        assert all(not row.sent for row in rows if row not in kept)


@pytest.mark.parametrize("room", [3_000, 20_000])
def test_a_call_that_goes_uncounted_drives_out_no_other(room: int) -> None:
    journal = Journal(count=1, size=room)
    for number in range(1, 6):
        row = opened(journal)
        assert numbers(journal) == [number]
        journal.close(row, "complete")
    assert (numbers(journal), journal.open_calls) == ([5], 0)


def test_a_huge_stream_is_not_retained() -> None:
    journal = Journal()
    row = opened(journal)
    for _ in range(100):
        row.note_sent(b"x" * 100_000)
    assert journal.held <= 2 * MAX_KEPT


def test_of_too_many_namespaces_the_longest_idle_goes() -> None:
    journal = Journal(max_namespaces=3)
    for namespace in ("default", "a", "b", "a", "c", "d"):
        served(journal, namespace)
    assert [len(journal.list_rows(namespace)) for namespace in ("default", *"abcd")] == [1, 0, 0, 1, 1]
    assert journal.count_hits("a") == {}
    assert journal.held == sum(row.weight for row in journal)


def test_what_is_open_in_a_namespace_that_goes_ends_in_good_order() -> None:
    journal = Journal(max_namespaces=1)
    row = opened(journal, "a", body=b"x" * 10)
    served(journal, "b")
    row.note_sent(b"more")
    journal.close(row, "complete")
    assert (row.ended, row.body, journal.open_calls) == ("complete", b"", 0)
    assert [len(journal.list_rows(namespace)) for namespace in "ab"] == [0, 1]


def test_long_names_take_room() -> None:
    journal = Journal(size=4 * BARE)
    for _ in range(3):
        row = journal.open(HttpRequest("POST", "/" + "x" * BARE), "openai", query=b"q" * BARE)
        row.note_answer(Plan(None, "generated"), Reply(200, ()), call("x", model="m" * (BARE // 2)))
        journal.close(row, "complete")
    assert numbers(journal) == [3]


def test_rules_without_end_are_counted_as_others() -> None:
    journal = Journal()
    for number in (*range(MAX_SOURCES + 50), 0):
        row = opened(journal)
        row.plan = Plan(None, f"rule api {number}")
        journal.close(row, "complete")
    counts = {source: sums.count for (_, _, _, source, _), sums in journal.tally.ways.items()}
    assert (len(counts), counts["rule api 0"], counts[OTHER]) == (MAX_SOURCES + 1, 2, 50)


def test_an_answer_without_a_body_has_no_first_byte() -> None:
    journal = Journal()
    served(journal)
    served(journal, sent=b"x")
    (sums,) = journal.tally.ways.values()
    assert (sums.count, sums.first.buckets.total(), sums.completion) == (2, 1, 8)
