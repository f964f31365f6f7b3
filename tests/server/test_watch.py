"""A good change is swapped in at once; a broken one changes nothing and says so."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mockserver.cassettes.store import CassetteFile
from mockserver.config.models_and_limits import Key
from mockserver.core.episode import Recorded
from mockserver.server.cassette_store import parse_sent
from mockserver.server.live import Live, Sources, reload, start, watch
from tests.kit.reels import chat, episode

GOOD, BETTER, BROKEN = (
    "rules: [{name: a, then: {text: one}}]",
    "rules: [{name: b, then: {text: two}}]",
    "rules: [{name: c, then: {txt: three}}]",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(GOOD)
    return path


def names(live: Live) -> list[str]:
    return [rule.name for rule in live.engine.rules]


async def test_reload_swaps_the_settings_too(file: Path) -> None:
    sources = Sources((file,))
    live = start(sources)
    file.write_text("settings: {keys: [sk-test], max_body: 1KB, strict: true, dialect: azure}\n" + BETTER)
    await reload(live, sources)
    assert (live.settings.keys, live.settings.max_body, live.settings.strict) == ({"sk-test": Key()}, 1000, True)
    assert live.settings.dialect == "azure"


async def test_what_is_large_holds_nobody_up(file: Path) -> None:
    sources = Sources((file,))
    live, turns = start(sources), 0
    file.write_text("rules:\n" + "".join(f"  - {{name: r{n}, then: {{text: x}}}}\n" for n in range(300)))
    task = asyncio.create_task(reload(live, sources))
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 20
    assert len(live.engine.rules) == 300


class Said(asyncio.Queue[str]):
    """What a watch has said, while it stands."""

    async def next(self) -> str:
        """The next that it says."""
        async with asyncio.timeout(20):
            return await self.get()


@asynccontextmanager
async def watching(live: Live, sources: Sources) -> AsyncIterator[Said]:
    """A watch, and what it says."""
    said = Said()
    task = asyncio.create_task(watch(live, sources, said.put_nowait))
    try:
        yield said
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_changes_are_noticed_and_told(file: Path) -> None:
    sources = Sources((file,))
    live = start(sources)
    async with watching(live, sources) as said:
        while said.empty():  # the watch may not stand yet when the first change is made
            file.write_text(BETTER)
            await asyncio.sleep(0.05)
        assert await said.next() == "reloaded: 1 rule"
        assert names(live) == ["b"]
        replacement = file.with_suffix(".new")
        replacement.write_text(BROKEN)
        replacement.replace(file)  # as editors save
        while (text := await said.next()) == "reloaded: 1 rule":
            pass
        assert text.startswith("not reloaded, the rules before still hold:\n")
        assert "txt" in text
        assert names(live) == ["b"]


ONE, TWO, THREE = (episode(chat("hi"), answer) for answer in ("1", "2", "3"))


async def heard(live: Live) -> str:
    """What the cassette answers."""
    call = parse_sent("openai", ONE.request)
    assert call is not None
    played = await live.player.play(call, live.store)
    assert played is not None
    return played.outcome.bytes.decode() if isinstance(played.outcome, Recorded) else str(played.outcome)


async def test_cassettes_are_watched_too(tmp_path: Path) -> None:
    there = CassetteFile(tmp_path / "chat.yaml")
    there.append(ONE)
    there.append(TWO)
    sources = Sources((), {"cassettes": str(tmp_path), "cassette": "chat"})
    live = start(sources)
    path, good = tmp_path / "chat.yaml", (tmp_path / "chat.yaml").read_bytes()
    assert await heard(live) == "1"
    async with watching(live, sources) as said:
        there.append(THREE)
        assert await said.next() == "reloaded: cassette chat.yaml, 3 episodes"
        assert [await heard(live), await heard(live)] == ["2", "3"]  # it goes on where it was
        path.write_text("hello\n")
        torn = await said.next()
        assert torn.startswith("not reloaded, what was recorded before still holds:\n")
        assert "chat.yaml:1:1: not a cassette" in torn
        path.unlink()
        assert 'there is no cassette "chat"' in await said.next()
        assert await heard(live) == "3"
        path.write_bytes(good)
        assert await said.next() == "reloaded: cassette chat.yaml, 2 episodes"
        assert await heard(live) == "2"
        await live.player.save("chat", ONE)
        assert await heard(live) == "1"
        there.append(TWO)
        assert await said.next() == "reloaded: cassette chat.yaml, 4 episodes"
        assert await heard(live) == "2"
        assert said.empty()
