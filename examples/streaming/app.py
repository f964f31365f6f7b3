"""Shows an answer while it is written."""

import asyncio
from collections.abc import AsyncIterator

from openai import APIError, AsyncOpenAI


class BrokenOffError(Exception):
    """The answer did not come to its end."""


async def answer(question: str, *, patience: float = 10) -> AsyncIterator[str]:
    """The pieces of an answer as they come. Raises BrokenOffError, also when nothing comes for `patience` seconds."""
    async with AsyncOpenAI() as client:
        stream = await client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": question}], stream=True
        )
        async with stream:
            finish = None
            try:
                while finish is None:
                    async with asyncio.timeout(patience):
                        choice = (await anext(stream)).choices[0]
                    finish = choice.finish_reason
                    if choice.delta.content:
                        yield choice.delta.content
            except (APIError, StopAsyncIteration, TimeoutError) as error:
                raise BrokenOffError(f"the answer broke off: {type(error).__name__}") from error
