"""A good change is swapped in at once; a broken one changes nothing and says so."""

import asyncio
from pathlib import Path

import pytest

from mockserver.core.errors import MockserverError
from mockserver.kinds.keys import Key
from mockserver.server.live import Live, Sources, start
from mockserver.server.watch import reload, watch

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


async def test_reload_swaps_the_engine_and_keeps_what_is_remembered(file: Path) -> None:
    sources = Sources((file,))
    live = start(sources)
    file.write_text(BETTER)
    await reload(live, sources)
    assert names(live) == ["b"]
    assert live.engine.store is live.store


async def test_reload_swaps_the_settings_too(file: Path) -> None:
    sources = Sources((file,))
    live = start(sources)
    file.write_text("settings: {keys: [sk-test], max_body: 1KB, strict: true, dialect: azure}\n" + BETTER)
    await reload(live, sources)
    assert (live.settings.keys, live.settings.max_body, live.settings.strict) == ({"sk-test": Key()}, 1000, True)
    assert live.settings.dialect == "azure"


async def test_settings_that_stand_since_the_start_are_told(file: Path) -> None:
    sources = Sources((file,))
    live = start(sources)
    file.write_text("settings: {port: 9, dialect: azure, seed: 3}\n" + GOOD)
    assert await reload(live, sources) == ("port",)
    assert (live.settings.port, live.settings.dialect, live.settings.seed) == (8000, "azure", 3)


@pytest.mark.parametrize("content", [BROKEN, "rules: [", None])
async def test_what_is_broken_changes_nothing(file: Path, content: str | None) -> None:
    sources = Sources((file,))
    live = start(sources)
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(MockserverError):
        await reload(live, sources)
    assert names(live) == ["a"]


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


async def test_changes_are_noticed_and_told(file: Path) -> None:
    sources = Sources((file,))
    live = start(sources)
    said: asyncio.Queue[str] = asyncio.Queue()
    task = asyncio.create_task(watch(live, sources, said.put_nowait))
    try:
        async with asyncio.timeout(20):
            while said.empty():  # the watch may not stand yet when the first change is made
                file.write_text(BETTER)
                await asyncio.sleep(0.05)
            assert await said.get() == "reloaded: 1 rule"
            assert names(live) == ["b"]
            replacement = file.with_suffix(".new")
            replacement.write_text(BROKEN)
            replacement.replace(file)  # as editors save
            while (text := await said.get()) == "reloaded: 1 rule":
                pass
            assert text.startswith("not reloaded, the rules before still hold:\n")
            assert "txt" in text
            assert names(live) == ["b"]
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
