"""An upstream that echoes the client's key in odd forms: none of them reaches a cassette, the journal or the log."""

import gzip
import html
import json
import quopri
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from tests.kit.raw import Raw, post
from tests.kit.recording import recording
from tests.kit.upstream import Upstream, plain, stream, upstream

KEY = "sk-proj-Q7+vX2/nB9w_Lk4TzR8sYd1F"


def percent(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def escaped(text: str, digits: str = "04x") -> str:
    return "".join(f"\\u{ord(letter):{digits}}" for letter in text)


def mime(text: str) -> str:
    return "".join(f"={byte:02X}" + ("=\r\n" if at % 20 == 9 else "") for at, byte in enumerate(text.encode()))


def partly(text: str, written: Callable[[str], str]) -> str:
    return "".join(written(letter) if at % 3 == 1 else letter for at, letter in enumerate(text))


def base64(text: str, before: str = "") -> str:
    return b64encode(f"{before}{text}, it is".encode()).decode()


def twice(text: str, one: str, two: str) -> str:
    return base64(base64(text, one), two)


FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "lower": str.lower,
    "upper": str.upper,
    "URL": lambda key: quote(key, safe=""),
    "percent": percent,
    "PERCENT": lambda key: percent(key).upper(),
    "percent twice": lambda key: quote(percent(key)),
    "percent three times": lambda key: quote(quote(percent(key))),
    "partly percent": lambda key: partly(key, percent),
    **{f"base64, {len(before)} before": partial(base64, before=before) for before in ("", "a", "ab")},
    "base64 of URLs": lambda key: urlsafe_b64encode(f">>?{key}".encode()).decode(),
    **{
        f"base64 twice, {len(one)} and {len(two)} before": partial(twice, one=one, two=two)
        for one, two in product(("", "a", "ab"), repeat=2)
    },
    "base64 in percent": lambda key: percent(base64(key)),
    "hex": lambda key: key.encode().hex(),
    "HEX": lambda key: key.encode().hex().upper(),
    "hex with blanks": lambda key: key.encode().hex(" "),
    "hex with colons": lambda key: key.encode().hex(":").upper(),
    "numbers": lambda key: json.dumps([*key.encode()]),
    "\\x73": lambda key: "".join(f"\\x{byte:02x}" for byte in key.encode()),
    "\\u0073": escaped,
    "\\u002D": lambda key: escaped(key, "04X"),
    "partly \\u0073": lambda key: partly(key, escaped),
    "slashes of PHP": lambda key: key.replace("/", "\\/"),
    "decimal entities": lambda key: "".join(f"&#{ord(letter)};" for letter in key),
    "padded entities": lambda key: "".join(f"&#{ord(letter):06}" for letter in key),
    "hexadecimal entities": lambda key: "".join(f"&#x{ord(letter):x};" for letter in key),
    "HEXADECIMAL ENTITIES": lambda key: "".join(f"&#X{ord(letter):X};" for letter in key),
    "named entities": lambda key: key.replace("_", "&lowbar;").replace("/", "&sol;").replace("+", "&plus;"),
    "entities of entities": lambda key: html.escape(html.escape("".join(f"&#{ord(letter)};" for letter in key))),
    "entities of Go": lambda key: "".join(f"\\u0026#{ord(letter)};" for letter in key),
    "entities in percent": lambda key: quote("".join(f"&#{ord(letter)};" for letter in key), safe=""),
    "quoted-printable": mime,
    "JSON in JSON": lambda key: json.dumps(json.dumps({"said": key})),
    "\\u0073 in JSON in JSON": lambda key: json.dumps(json.dumps('"' + partly(key, escaped) + '"')),
    "PHP in JSON in JSON": lambda key: json.dumps(json.dumps(key.replace("/", "\\/"))),
}
RAW = ("\\u0073", "\\u002D", "partly \\u0073", "slashes of PHP", "entities of Go")  # escapes of the JSON of the answer


def member(name: str) -> str:
    text = FORMS[name](KEY)
    return f'"{text}"' if name in RAW else json.dumps(text)


def event(text: str) -> bytes:
    return b'data: {"choices": [{"index": 0, "delta": {"content": ' + text.encode() + b"}}]}\n\n"


def pieces(name: str) -> Iterator[bytes]:
    text = FORMS[name](KEY)
    thirds = len(text) // 3
    yield from (event(json.dumps(piece)) for piece in (" ", text[:5], text[5:thirds], text[thirds:], " "))


DONE = b"data: [DONE]\n\n"
ALL = b'{"object":"list","data":{' + ",".join(f"{json.dumps(name)}:{member(name)}" for name in FORMS).encode() + b"}}"
EVENTS = [event(member(name)) for name in FORMS]
SPLIT = [piece for name in FORMS for piece in pieces(name)]
UNNAMED = [b"data: it is " + KEY[:9].encode() + b"\n\n", b"data: " + KEY[9:].encode() + b"\n\n"]
IN_HEADS = [
    f"x-ratelimit-{number}: {text}"
    for number, text in enumerate(written(KEY) for written in FORMS.values())
    if text.isascii() and text.isprintable()
]
ANSWERS = {
    "plain": plain(ALL, *IN_HEADS, f"x-ms-{KEY.encode().hex()}: 1"),
    "gzip": plain(gzip.compress(ALL), "content-encoding: gzip"),
    "error": plain(ALL, status="500 Internal Server Error"),
    "page": plain(html.escape(ALL.decode()).encode(), "content-type: text/html"),
    "stream": stream(*EVENTS, DONE),
    "gzip stream": stream(gzip.compress(b"".join(EVENTS) + DONE), headers=("content-encoding: gzip",)),
    "pieces": stream(*SPLIT, DONE),
    "no JSON": stream(*UNNAMED, DONE),
}


def unescaped(text: str) -> str:
    text = re.sub(r"\\+(?:u00|x)([2-7][0-9a-fA-F])", lambda found: chr(int(found[1], 16)), text)
    return html.unescape(unquote(re.sub(r"\\+/", "/", text)))


def unpacked(text: str) -> Iterator[str]:
    for digits in re.findall(r"(?:[0-9a-fA-F]{2}[ :]?){12,}", text):
        yield bytes.fromhex(digits.replace(":", "")).decode("latin-1")
    for numbers in re.findall(r"(?:\d+, ?){12,}\d+", text):
        yield "".join(chr(int(number) % 256) for number in numbers.split(","))
    for run, at in product(re.findall(r"[\w+/-]{16,}", text), range(4)):
        letters = run[at:].replace("-", "+").replace("_", "/")
        yield b64decode(letters[: len(letters) // 4 * 4]).decode("latin-1")


def meanings(data: bytes) -> Iterator[str]:
    """A text without its escapes, one layer after the other, and what its digits and its base64 mean."""
    text = data.decode("latin-1")
    for _ in range(4):
        yield text
        for once in unpacked(text):
            yield from (once, *unpacked(once))
        text = unescaped(text)
    breaks = re.sub(r"=(?:\r|\\+r)?(?:\n|\\+n)", "", text)
    yield quopri.decodestring(breaks.encode("latin-1")).decode("latin-1")


PARTS = [KEY[at : at + 10].lower() for at in range(len(KEY) - 9)]


def reveals(data: bytes) -> bool:
    return any(part in text for text in map(str.lower, meanings(data)) for part in PARTS)


@pytest.fixture(scope="module")
def echoing() -> Iterator[Upstream]:
    with upstream(ANSWERS) as process:
        yield process


@pytest.mark.parametrize("name", FORMS)
def test_each_form_reveals_the_key(name: str) -> None:
    assert reveals(member(name).encode())
    assert not reveals(member(name).replace(KEY, "").encode()) or KEY not in member(name)


def control(port: int, path: str) -> bytes:
    with Raw(port) as raw:
        return raw.send(f"GET /__mockserver__/api/{path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()).receive().body


@pytest.mark.parametrize("script", ANSWERS)
def test_no_form_of_an_echoed_key_is_kept_or_shown(
    script: str, echoing: Upstream, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked = {name: written(KEY) for name, written in FORMS.items()}
    body = json.dumps(
        {"model": "m", "stream": "stream" in script, "messages": [{"role": "user", "content": str(asked)}]}
    )
    query = "&".join(f"f{number}={quote(text, safe='')}" for number, text in enumerate(asked.values()))
    with recording(echoing.base(script), tmp_path, record_errors=True) as front:
        target = f"/v1/chat/completions?{query}"
        assert front.ask(post(body.encode(), f"authorization: Bearer {KEY}", path=target)).status in (200, 500)
        assert len(front.episodes) == 1
        shown = [control(front.port, "calls?bodies=true"), control(front.port, "calls/1")]
    assert len(shown[0]) > len(ALL) / 4
    for data in (*shown, caplog.text.encode(), *(each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())):
        assert not reveals(data)
