"""Work on large calls, done on a thread of its own, one piece after the other: everybody else is served meanwhile.

Knows how large a call is, not what the work is. What is done here must not care which thread it is on: whoever keeps
anything that is changed while it is used keeps one of it for each thread, or a lock.
"""

from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from mockserver.core.call import Call

T = TypeVar("T")


async def apart(call: Call, work: Callable[[], T]) -> T:
    """What some work for a call comes to. A small call's is done at once: handing it over would cost more."""
    if not is_large(call):
        return work()
    return await get_running_loop().run_in_executor(_worker(), work)


def is_large(call: Call) -> bool:
    """Whether there is so much in a call that it may keep others waiting, in its request or its conversation."""
    return len(call.http.body) > LARGE or sum(len(message.text) for message in call.messages) > LARGE


@cache
def _worker() -> ThreadPoolExecutor:
    """One thread: two would be no faster, and would each take as much of the others' time."""
    return ThreadPoolExecutor(1, thread_name_prefix="mockserver-large")


LARGE = 8_192  # bytes of a request, or characters of a conversation
