"""Large work, done on threads of its own: everybody else is served meanwhile.

Knows how large a call is, not what the work is. What is done here must not care which thread it is on: whoever keeps
anything that is changed while it is used keeps one of it for each thread, or a lock.
"""

import os
import sys
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import Callable, Generator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from mockserver.core.call import Call
from mockserver.core.draft import DocumentDraft, Draft
from mockserver.core.plan import Answer, Embeddings, Listing, Outcome, Stored, words_of

T = TypeVar("T")


async def apart(call: Call, work: Callable[[], T]) -> T:
    """What some work for a call comes to. A small call's is done at once: handing it over would cost more."""
    return await aside(work) if is_large(call) else work()


async def aside(work: Callable[[], T]) -> T:
    """What some large work comes to; it keeps nobody waiting."""
    if BY_HAND.get():
        done: T = await Work(work)
        return done
    loop = get_running_loop()
    told: Future[T] = loop.create_future()
    _orders().put(_Order(work, loop, told))
    return await told


def is_large(call: Call) -> bool:
    """Whether there is so much in a call that it may keep others waiting, in its request or its conversation."""
    return len(call.http.body) > LARGE or sum(len(message.text) for message in call.messages) > LARGE


def is_long(call: Call, outcome: Outcome) -> bool:
    """Whether there is so much to tell that it may keep others waiting, however short the request was."""
    match outcome:
        case Answer(usage=usage):
            return usage.completion * (1 + (call.logprobs or 0)) > LONG
        case Embeddings(vectors=vectors):
            return sum(map(len, vectors)) > LONG
        case Stored(call=kept, answer=answer, size=size):
            return size > LARGE or is_long(kept, answer)
        case Listing(entries=entries):
            return sum(entry.size for entry in entries) > LARGE
    return False


def makes_long(call: Call, draft: Draft | DocumentDraft) -> bool:
    """The same of an answer that is not made yet."""
    if isinstance(draft, DocumentDraft):
        return len(call.prompts) * (call.dimensions or USUAL_DIMENSIONS) > LONG
    if call.n == 1 and call.logprobs is None:
        return False
    letters = sum(len(words_of(part)) for choice in draft.choices for part in choice.parts)
    return letters * max(1, call.n // max(1, len(draft.choices))) * (1 + (call.logprobs or 0)) > LONG * LETTERS


@dataclass(frozen=True, slots=True)
class Work:
    """Large work, handed up to whoever steps the coroutine that wants it done."""

    work: Callable[[], Any]

    def __await__(self) -> Generator["Work", Any, Any]:
        return (yield self)


@dataclass(frozen=True, slots=True)
class _Order:
    """Work for a thread, and where its result is awaited."""

    work: Callable[[], object]
    loop: AbstractEventLoop
    told: "Future[Any]"

    def carry_out(self) -> None:
        """Do it and tell, if anybody still listens."""
        try:
            tell = partial(_settle, self.told, self.work())
        except Exception as error:
            tell = partial(_settle, self.told, None, error)
        except BaseException as error:  # a panic of what is not written in Python: it must not end the thread
            tell = partial(_settle, self.told, None, RuntimeError(f"{type(error).__name__}: {error}"))
        with suppress(RuntimeError):  # the loop is closed: nobody does
            self.loop.call_soon_threadsafe(tell)


def _settle(told: "Future[Any]", result: object, error: Exception | None = None) -> None:
    if told.done():
        return
    if error is None:
        told.set_result(result)
    else:
        told.set_exception(error)


@cache
def _orders() -> "SimpleQueue[_Order]":
    """Where the threads take their work from. They end with the process, whatever they are doing."""
    orders: SimpleQueue[_Order] = SimpleQueue()
    for number in range(THREADS):
        Thread(target=_work, args=(orders,), name=f"mockserver-large-{number}", daemon=True).start()
    return orders


def _work(orders: "SimpleQueue[_Order]") -> None:
    while True:
        orders.get().carry_out()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_orders.cache_clear)  # the threads have stayed behind
BY_HAND: ContextVar[bool] = ContextVar("by hand", default=False)  # a coroutine is stepped by hand, without a loop
THREADS = 4  # no faster than one, but a call that takes long leaves the next one its share
LARGE = 8_192  # bytes of a request, or characters of a conversation
LONG = 20_000  # tokens of an answer, with all that is told of each, or numbers of its vectors
LETTERS = 4  # of a token, about
USUAL_DIMENSIONS = 1536
