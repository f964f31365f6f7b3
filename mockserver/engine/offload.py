"""Runs large work on threads, so that other requests are served meanwhile.

Knows how large a call is, not what the work is. Work may run on any thread: what it changes must be guarded by a lock,
or exist once for each thread.
"""

import os
import re
import sys
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from functools import cache, partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft, Draft
from mockserver.core.plan import Answer, Artifact, Failure, Listing, Outcome, Stored, find_words
from mockserver.kinds.embeddings import USUAL_DIMENSIONS

P = ParamSpec("P")
T = TypeVar("T")


async def on_thread(function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Call a function with these arguments as the WORKER does: on a thread, unless another one was set."""
    done: T = await WORKER.get()(partial(function, *args, **named))
    return done


async def work_on_thread(work: Callable[[], T]) -> T:
    """Call a function on one of our threads, in a loop of asyncio."""
    loop = get_running_loop()
    done: Future[T] = loop.create_future()
    _start_threads().put(_Order(work, loop, done))
    try:
        return await done
    finally:
        del done, work  # a failure would lead to them and back, and keep what was worked on


def is_large(call: Call) -> bool:
    """Return whether work for a call may take long, by what it works on: of many prompts that is one at a time."""
    if call.prompts or call.previous_response_id is not None:  # token ids, and what was said before
        if sum([len(message.text) for message in call.messages]) > LARGEST_IN_LOOP:
            return True
        if len(call.prompts) == 1:
            return False
    return len(call.http.body) > LARGEST_IN_LOOP


def is_demanding(call: Call) -> bool:
    """Return whether generating an answer to a call may take long: it reads all texts, and follows schemas."""
    if call.prompts or call.previous_response_id is not None:  # as above
        if sum([len(message.text) for message in call.messages]) > DEMANDING:
            return True
        if call.prompts:
            return len(call.prompts) > 1 and len(call.http.body) > DEMANDING
    if len(call.http.body) > DEMANDING:
        return True
    return bool(call.tools or call.options.schema) and _is_costly(call.http.body)


def _is_costly(body: bytes) -> bool:
    """Return whether a body may have schemas or grammars that take long, however short they are."""
    return any(map(body.__contains__, _COSTLY_KEYWORD_ENDS)) or (
        _ESCAPE in body and _ESCAPED_LETTER.search(body) is not None
    )


def is_long(call: Call, outcome: Outcome) -> bool:
    """Return whether an outcome is large enough to block other requests."""
    if type(outcome) is Answer:  # first, as most are; a match takes far longer
        return outcome.usage.completion * (1 + (call.options.logprobs or 0)) > LONG
    match outcome:
        case Artifact(size=size):
            return size > LONG
        case Stored(call=kept, answer=answer, size=size):
            return size > LARGEST_IN_LOOP or is_long(kept, answer)
        case Listing(entries=entries):
            return sum(entry.size for entry in entries) > LARGEST_IN_LOOP
    return False


def makes_long(call: Call, draft: Draft | ArtifactDraft) -> bool:
    """Return whether making an answer of a draft may take long."""
    options = call.options
    if type(draft) is not Draft:  # isinstance takes far longer for a Struct
        if options.schema is not None or options.image_schema is not None:  # followed for the document, and each image
            return True
        return (len(call.prompts) + len(call.documents)) * (options.dimensions or USUAL_DIMENSIONS) > LONG
    if options.n == 1 and options.logprobs is None:  # the work is done by then
        return False
    letters = sum([len(find_words(part)) for choice in draft.choices for part in choice.parts])
    times = max(1, options.n // max(1, len(draft.choices)))
    return letters * times * (1 + (options.logprobs or 0)) > LONG * LETTERS


class _Order(Struct, frozen=True):
    """Work for a thread, and the future for its result."""

    work: Callable[[], object]
    loop: AbstractEventLoop
    done: "Future[Any]"

    def carry_out(self) -> None:
        """Do the work on this thread, and resolve the future in its loop."""
        try:
            resolve = partial(_resolve, self.done, self.work())
        except Failure as failure:  # its traceback would keep what was worked on until the answer is sent
            resolve = partial(_resolve, self.done, None, failure.with_traceback(None))
        except Exception as error:
            resolve = partial(_resolve, self.done, None, error)
        except BaseException as error:  # a panic in native code must not end the thread
            resolve = partial(_resolve, self.done, None, RuntimeError(f"{type(error).__name__}: {error}"))
        with suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(resolve)
        del self, resolve  # an error leads here, by its traceback or its cause's, and would keep what was worked on


def _resolve(future: "Future[Any]", result: object, error: Exception | None = None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


@cache
def _start_threads() -> "SimpleQueue[_Order]":
    """Return the queue of the threads, which end with the process."""
    orders: SimpleQueue[_Order] = SimpleQueue()
    for number in range(THREADS):
        Thread(target=_work, args=(orders,), name=f"mockserver-large-{number}", daemon=True).start()
    return orders


def _work(orders: "SimpleQueue[_Order]") -> None:
    while True:
        orders.get().carry_out()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_start_threads.cache_clear)  # threads do not survive a fork
Worker = Callable[[Callable[[], Any]], Coroutine[Any, Any, Any]]  # returns what a function returns
WORKER: ContextVar[Worker] = ContextVar("worker", default=work_on_thread)  # who does large work
# How the keywords of schemas and grammars end that may take long, with their closing quotes; an escaped letter may be
# in one. Looked for one by one, as a pattern of them all takes twenty times as long.
_COSTLY_KEYWORD_ENDS = (
    b'Ref"',
    b'ref"',
    b'pattern"',
    b'grammar"',
    b'Items"',
    b'Length"',
    b'nProperties"',  # minProperties; additionalProperties costs little, and is in every strict schema
    b'xProperties"',
    b'dProperties"',  # unevaluatedProperties
    b'Contains"',
    b'Of"',
)
_ESCAPE = rb"\\u00"
_ESCAPED_LETTER = re.compile(rb"\\\\u00[0-7]")
THREADS = 4  # no faster than one, but shares the time fairly
LARGEST_IN_LOOP = 32_768  # bytes of a request, or characters of a conversation; larger ones go to a thread
DEMANDING = 8_192  # bytes of a request, or characters of a conversation, whose answer is generated
LONG = 20_000  # tokens of an answer with their alternatives, or numbers of its vectors
LETTERS = 4  # per token, roughly
