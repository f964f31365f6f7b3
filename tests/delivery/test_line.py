"""A line to one client."""

from typing import Any

from mockserver.delivery.drive import client_left


async def test_a_client_has_left_once_that_is_said() -> None:
    said = [{"type": "http.request"}, {"type": "http.request"}, {"type": "http.disconnect"}, {"type": "unheard"}]

    async def receive() -> Any:
        return said.pop(0)

    await client_left(receive)
    assert [message["type"] for message in said] == ["unheard"]
