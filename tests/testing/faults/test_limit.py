"""A time limit: first what is waited for is let go, then the waiting is broken off."""

import threading

import pytest

from mockserver.testing.fault_matrix import HungError, Limit


def test_what_ends_in_time_is_left_alone() -> None:
    let_go = list[str]()
    with Limit(5, lambda: let_go.append("now")) as limit:
        pass
    assert (limit.passed, limit.where, let_go) == (False, "", [])


def test_what_waits_for_an_answer_goes_on_when_it_is_let_go() -> None:
    answer = threading.Event()
    with Limit(0.05, answer.set) as limit:
        assert answer.wait(20)
    assert limit.passed
    assert limit.where.startswith("tests/testing/faults/test_limit.py:")


def stubborn(limit: Limit) -> None:
    with limit:
        try:
            threading.Event().wait(20)
        except Exception:  # as an app may have it
            threading.Event().wait(20)


def test_what_waits_for_something_else_is_broken_off() -> None:
    limit = Limit(0.05, lambda: None)
    with pytest.raises(HungError, match=r"0.05 s have passed"):
        stubborn(limit)
    assert limit.passed


def test_another_thread_can_only_be_let_go() -> None:
    answer, passed = threading.Event(), list[bool]()

    def work() -> None:
        with Limit(0.05, answer.set) as limit:
            answer.wait(20)
        passed.append(limit.passed)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert passed == [True]
