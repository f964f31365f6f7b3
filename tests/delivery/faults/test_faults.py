"""Faults are links in a chain: each changes what the one before it left."""

import math
from collections.abc import Iterable, Iterator

import pytest

from mockserver.core.action import Action, Cut, Fault, FaultContext, Head, RawWrite, Wait, Write
from mockserver.core.frames import Frame
from mockserver.delivery.faults import FAULTS, apply_faults
from mockserver.delivery.faults.positions import find_stated_length
from tests.delivery.faults.stage import PLAIN, STREAM

ACTIONS = (Head(200, ()), Write(b"1"), Write(b"2"))


def first_write_only(actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
    for action in actions:
        yield action
        if isinstance(action, Write):
            yield Cut("end")
            return


def shouted(actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
    return (
        Write(context.error("server_error", b"").data) if isinstance(action, Write) else action for action in actions
    )


def test_faults_are_applied_in_order() -> None:
    faults = (Fault("first", first_write_only), Fault("shouted", shouted))
    assert list(apply_faults(ACTIONS, faults, lambda reason, frames: Frame(b"!"))) == [
        Head(200, ()),
        Write(b"!"),
        Cut("end"),
    ]


def test_a_status_without_a_body_gets_none() -> None:
    fault = Fault("error_event", FAULTS["error_event"]())
    actions = (Head(204, ()), Write(b""))
    assert list(apply_faults(actions, (fault,), lambda reason, frames: Frame(b"!"), streamed=False)) == [
        Head(204, ()),
        Cut("end"),
    ]


def test_the_answer_to_head_has_no_bytes_either_past_its_end() -> None:
    fault = Fault("wrong_content_length", FAULTS["wrong_content_length"](by=-1))
    actions = (Head(200, (("content-length", "3"),)), Write(b"abc"))
    head = Head(200, (("content-length", "2"),))
    for asked, left in ((False, [head, Write(b"ab"), RawWrite(b"c")]), (True, [head])):
        assert (
            list(apply_faults(actions, (fault,), lambda reason, frames: Frame(b"!"), streamed=False, head=asked))
            == left
        )


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_leaves_what_can_be_sent(name: str) -> None:
    """Whatever comes after: a body is as long as its head says, unless the connection ends with it."""
    for streamed, actions in ((True, STREAM), (False, PLAIN)):
        for other in FAULTS:
            faults = [Fault(each, FAULTS[each]()) for each in (name, other)]
            found = list(apply_faults(actions, faults, lambda reason, frames: Frame(b"{}"), streamed=streamed))
            stated = next((find_stated_length(each.headers) for each in found if isinstance(each, Head)), None)
            if stated is None:
                continue
            size = sum(len(each.data) for each in found if isinstance(each, Write))
            whole = not any(each in found for each in (Cut("close"), Cut("reset"), Wait(math.inf)))
            assert size == stated if whole else size <= stated, (name, other)
