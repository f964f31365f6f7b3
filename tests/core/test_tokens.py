"""Pieces join to the text, and their number is near the true one."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core import tokens
from mockserver.core.tokens import (
    Chunks,
    _count_in_part,
    _make_token_pattern,
    count,
    cut,
    find_token_id,
    make_placeholder,
    split,
)

WAYS: tuple[Chunks, ...] = ("token", "word", "char", 1, 7)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("One two three four.", ["One", " two", " three", " four", "."]),
        ("I don't, she'll", ["I", " don't", ",", " she'll"]),
        ("internationalization", ["interna", "tion", "aliz", "atio", "n"]),
        (" Straßenbahn", [" Straß", "enbahn"]),
        ('{"name": 12345}', ['{"', "name", '":', " ", "123", "45", "}"]),
        ("self.max_length", ["self", ".max", "_length"]),
        ("if x:\n    y", ["if", " x", ":\n", "   ", " y"]),
        ("HTTPServer", ["HTT", "P", "Server"]),
        ("--------", ["--------"]),
        ("你好的世界", ["你", "好", "的", "世界"]),
        ("हिन्दी", ["हिन्", "दी"]),
        ("e\u0301te\u0301", ["e\u0301", "te\u0301"]),
        ("👋🏽 ❤️", ["👋🏽", " ❤️"]),
        ("\ud800x\udfff", ["\ud800", "x", "\udfff"]),
    ],
)
def test_known_pieces(text: str, pieces: list[str]) -> None:
    assert list(split(text)) == pieces


@pytest.mark.parametrize(
    ("o200k", "text"),
    [
        pytest.param(
            65,
            "The harbour was quiet when the last boat came in. A thin fog lay over the water, and the l"
            "amps along the quay looked like small yellow moons. Nobody spoke while the crew carried th"
            "e baskets ashore; they had been out for eleven days, and there was not much to say that th"
            "e others did not already know.",
            id="english_prose",
        ),
        pytest.param(
            71,
            "Hi! Could you help me plan a weekend in Lisbon? I don't want"
            " to spend more than $400, and I'd rather walk than take taxi"
            "s. Sure! Here's a rough plan: on Saturday, start early at th"
            "e Miradouro da Graça, then take tram 28 down to the cathedra"
            "l. Let me know if you'd like restaurant tips too.",
            id="chat",
        ),
        pytest.param(
            103,
            '{"order_id": 48213, "customer": {"name": "Ada Lovelace", "email": "ada@example.com", "vip"'
            ': true}, "items": [{"sku": "TEA-001", "quantity": 2, "unit_price": 4.5}, {"sku": "MUG-017"'
            ', "quantity": 1, "unit_price": 11.25}], "total": 20.25, "currency": "EUR", "notes": null}',
            id="json",
        ),
        pytest.param(
            88,
            'def moving_average(values, window=3):\n    """Return the means of each run of `window` valu'
            'es."""\n    if window < 1:\n        raise ValueError("window must be positive")\n    total = '
            "sum(values[:window])\n    means = [total / window]\n    for old, new in zip(values, values[w"
            "indow:]):\n        total += new - old\n        means.append(total / window)\n    return means"
            "\n",
            id="python",
        ),
        pytest.param(
            96,
            "# Getting started\n\nInstall the package, then start the server:\n\n```bash\npip install mockse"
            "rver\nmockserver serve --port 8000\n```\n\n- **Rules** live in `rules.yaml`; see [the guide](d"
            "ocs/rules.md).\n- *Cassettes* are recorded answers.\n\n| option | default |\n| --- | --- |\n| `"
            "--host` | 127.0.0.1 |\n| `--seed` | 0 |\n",
            id="markdown",
        ),
        pytest.param(
            58,
            "Der Zug nach Hamburg fährt heute leider zwanzig Minuten spät"
            "er ab, weil eine Weiche gestört ist. Wir bitten alle Fahrgäs"
            "te um Verständnis und empfehlen, die Anschlüsse in der App z"
            "u prüfen. Wer eine Reservierung besitzt, kann ohne Aufpreis "
            "auch den nächsten Zug nehmen.",
            id="german",
        ),
        pytest.param(
            62,
            "Chaque matin, la boulangère ouvre sa boutique avant le lever"
            " du soleil. Elle prépare le pain, les croissants et quelques"
            " tartes aux pommes, puis elle attend ses premiers clients. I"
            "l y a toujours un vieux monsieur qui arrive à six heures, ac"
            "hète une baguette et raconte une histoire différente.",
            id="french",
        ),
        pytest.param(
            59,
            "El martes por la tarde fuimos al mercado para comprar verdur"
            "as, pescado fresco y un poco de queso. Había mucha gente, as"
            "í que tardamos casi una hora en volver a casa. Mi abuela dic"
            "e que la mejor sopa se prepara despacio, con paciencia y sin mirar el reloj.",
            id="spanish",
        ),
        pytest.param(
            63,
            "Вчера вечером мы долго гуляли по набережной и разговаривали "
            "о том, как изменился город за последние десять лет. Новые до"
            "ма стоят рядом со старыми, а маленькие магазины постепенно з"
            "акрываются. Но река осталась прежней, и это почему-то успока"
            "ивает.",
            id="russian",
        ),
        pytest.param(
            69,
            "昨天晚上我们在河边散步，谈到这座城市在过去十年里的变化。新的大楼建在老房子旁边，很多小商店已经关门了。不过河水还是和以前"
            "一样，这让人觉得很安心。如果明天天气好，我们打算坐船去对面的公园。",
            id="chinese",
        ),
        pytest.param(
            72,
            "昨日の夜、私たちは川沿いを歩きながら、この十年で町がどのように変わったかについて話しました。新しいビルが古い家の隣に建ち"
            "、小さな店は少しずつ閉まっています。でも川は昔のままで、それを見ると安心します。",
            id="japanese",
        ),
        pytest.param(
            61,
            "مشينا أمس مساء على ضفة النهر وتحدثنا عن كيف تغيرت المدينة خل"
            "ال السنوات العشر الماضية. المباني الجديدة تقف بجانب البيوت ا"
            "لقديمة، والمتاجر الصغيرة تغلق أبوابها ببطء. لكن النهر بقي كم"
            "ا هو، وهذا يبعث على الراحة.",
            id="arabic",
        ),
        pytest.param(
            70,
            "कल शाम हम नदी के किनारे टहलते हुए बात कर रहे थे कि पिछले दस "
            "वर्षों में शहर कितना बदल गया है। नई इमारतें पुराने घरों के प"
            "ास खड़ी हैं और छोटी दुकानें धीरे-धीरे बंद हो रही हैं। लेकिन "
            "नदी वैसी ही है, और यह देखकर मन को शांति मिलती है।",
            id="hindi",
        ),
        pytest.param(
            76,
            "2024-03-17 14:05:59 1,204.50 998 0.0031 17% 3.14159 +49 30 901820 192.168.0.254 1e-9 42 10"
            "0000 12/31/1999 $19.99 65536 7:30",
            id="numbers",
        ),
        pytest.param(
            57,
            "https://example.com/docs/getting-started?lang=en&page=2 http://localhost:8000/v1/chat/comp"
            "letions https://github.com/acme/widgets/issues/1423 mailto:jane.doe@example.org /usr/local"
            "/lib/python3.11/site-packages",
            id="urls",
        ),
        pytest.param(
            39,
            "Great job, team! 🎉 The release is out and everything works ✅"
            ". See you at the party tonight 🥳 and don't forget to bring s"
            "nacks 🍕. I can't wait! 😀",
            id="emoji",
        ),
    ],
)
def test_near_the_true_count(o200k: int, text: str) -> None:
    assert count(text) == pytest.approx(o200k, rel=0.085)


@given(st.text(st.characters()) | st.text("ab AZ 019 .,'\\n\\r\\t_-é中\u0301\u093f"), st.sampled_from(WAYS))
def test_pieces_join_to_the_text(text: str, chunks: Chunks) -> None:
    pieces = cut(split(text), chunks)
    assert "".join(pieces) == text
    assert all(pieces)


WORDS = (
    "hello",
    "A",
    "7",
    "2026",
    "1234567",
    "don't",
    "HTTPServer",
    "12345",
    "x=1,",
    "---",
    "é",
    "Straße",
    "हिन्दी",
    "我们",
    "e\u0301",
    "👋🏽",
)
SPACES = (" ", " ", " ", "  ", "\n", "\n\n    ", "\t", "\xa0", "\u2003", "\x1c", "", " " * 64, " " * 130)


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(SPACES))))
def test_words_are_split_and_counted_as_the_pattern_splits_the_text(words: list[tuple[str, str]]) -> None:
    text = "".join(map("".join, words))
    found = _make_token_pattern(is_ascii=text.isascii()).findall(text)
    assert list(split(text)) == found
    assert count(text) == len(found)


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(SPACES)), min_size=1), st.data())
def test_a_part_of_a_text_is_counted_as_the_pattern_splits_it(
    words: list[tuple[str, str]], data: st.DataObject
) -> None:
    text = "".join(map("".join, words))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert _count_in_part(text, start, end) == len(
        _make_token_pattern(is_ascii=text.isascii()).findall(text, start, end)
    )


@given(st.text() | st.text(" \n\t\xa0a.9é"))
def test_any_text_is_split_and_counted_as_the_pattern_splits_it(text: str) -> None:
    found = _make_token_pattern(is_ascii=text.isascii()).findall(text)
    assert list(split(text)) == found
    assert count(text) == len(found)


@given(st.text(st.characters(codec="utf-8")), st.sampled_from(WAYS))
def test_no_piece_holds_half_a_character(text: str, chunks: Chunks) -> None:
    for piece in cut(split(text), chunks):
        piece.encode()


@pytest.mark.parametrize(
    ("chunks", "pieces"),
    [
        ("token", ("Hello", " big", " world", "\n")),
        ("word", ("Hello", " big", " world", "\n")),
        ("char", tuple("Hello big world\n")),
        (6, ("Hello ", "big wo", "rld\n")),
        (("Hello big", " world\n"), ("Hello big", " world\n")),
    ],
)
def test_ways_to_cut(chunks: Chunks, pieces: tuple[str, ...]) -> None:
    assert cut(split("Hello big world\n"), chunks) == pieces


@pytest.mark.parametrize("chunks", ["sentence", 0, -1])
def test_unknown_ways_to_cut(chunks: Any) -> None:
    with pytest.raises(ValueError, match=f"unknown way to cut: {chunks!r}"):
        cut(("Hello",), chunks)


@pytest.mark.parametrize(
    "unit",
    [
        "'",
        '"',
        " ",
        " x",
        "\n",
        "\r\n ",
        "7",
        "a",
        "A",
        " A",
        "a'",
        "aé",
        "en",
        "-",
        "\u0301",
        "क",
        "\u093f",
        "中",
        "😀",
        "\0",
    ],
)
def test_time_is_linear(unit: str) -> None:
    text = unit * (300_000 // len(unit)) + "!"
    started = time.process_time()
    assert "".join(split(text)) == text
    assert time.process_time() - started < 3  # about a tenth of a second; quadratic would be minutes


def test_a_text_is_split_once_unless_it_is_huge() -> None:
    long, huge = "word " * 2_000, "word " * 20_000
    assert split("".join(long)) is split("".join(long))
    assert split(huge) is not split(huge)


@pytest.mark.parametrize("text", ["A short text.", "An instruction of 8 kB. " * 340, "A huge text. " * 16_000])
def test_a_text_is_counted_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = count(text)
    for find in ("_count", "_estimate"):
        monkeypatch.setattr(tokens, find, None)
    assert count("".join(list(text))) == counted


@pytest.mark.parametrize(
    "unit", ["word ", "7", '{"name": "n", "value": 12345}, ', "x", "Grüße aus Köln! ", "海は広い。"]
)
def test_a_huge_text_is_counted_by_parts_of_it(unit: str) -> None:
    text = unit * (400_000 // len(unit))
    assert count(text) == pytest.approx(len(split(text)), rel=0.05)
    assert count(text + text) == pytest.approx(2 * count(text), rel=0.02)


@pytest.mark.parametrize("number", [0, 7, 123, 199_999, -5])
def test_a_token_known_by_its_number_keeps_it(number: int) -> None:
    assert find_token_id(make_placeholder(number)) == number


def test_other_tokens_have_stable_numbers_of_their_own() -> None:
    assert [find_token_id(token) for token in (" Hello", " there", ".", "")] == [129_723, 142_614, 63_620, 69_876]
    assert all(0 <= find_token_id(token) < 200_000 for token in ("<|x|>", "<|1|>2", "\ud800", "é" * 500))


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_texts_have_a_pattern_of_their_own_but_the_same_tokens(text: str) -> None:
    assert list(split(text)) == _make_token_pattern(is_ascii=False).findall(text)
