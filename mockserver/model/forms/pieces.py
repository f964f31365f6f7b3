"""Texts of a form of their own: a word, a number, a title, verses, a story, a letter, a summary, so many sentences."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

from mockserver.core.seed import Random
from mockserver.model.forms.prompt import NUMBER, Asked, number_of
from mockserver.model.languages import ENGLISH, LANGUAGES, english
from mockserver.model.languages.courtesy import COURTESIES
from mockserver.model.languages.english import GREETINGS
from mockserver.model.prose.questions import SIGNS
from mockserver.model.prose.sentences import Speaker, blank, pick, sentences
from mockserver.model.vocabulary import vocabulary


def one_word(asked: Asked, rng: Random) -> str | None:
    """One word, where no more is wanted."""
    if not any(_ONE_WORD.search(order) for order in asked.both):
        return None
    proper = [word for word in asked.topic.words if word[:1].isupper()]
    return pick(proper or english.ASPECTS, rng).capitalize()


def rated(asked: Asked, rng: Random) -> str | None:
    """A number within the bounds that the prompt gives."""
    bounds = _BOUNDS.search(asked.text) or _BOUNDS.search(asked.rules)
    if bounds is None and asked.topic.kind == "count" and any(_BARE_NUMBER.search(order) for order in asked.both):
        return str(rng.randrange(1, 100))
    if bounds is None:
        return None
    low, high = sorted((int(bounds[1]), int(bounds[2])))
    return str(rng.randrange(low, high + 1))


def titled(asked: Asked, rng: Random) -> str | None:
    """A title, a name or a headline."""
    if not any(_TITLE.search(order) for order in asked.both):
        return None
    subject = asked.topic.subject or "A Short Conversation"
    words = subject.split()[:6]
    plain = " ".join(
        word if word.lower() in _SMALL and at else word[:1].upper() + word[1:] for at, word in enumerate(words)
    )
    return plain.removeprefix("The ").removeprefix("A ") if asked.topic.subject else plain


def versed(asked: Asked, rng: Random) -> str | None:
    """A haiku or a poem."""
    found = _VERSES.search(asked.text)
    if found is None:
        return None
    poems = _HAIKU if found[1].lower() == "haiku" else _POEMS
    return _spoken(asked, pick(poems, rng), rng)


def told_story(asked: Asked, rng: Random) -> str | None:
    """A short story, or a joke."""
    found = _STORY.search(asked.text)
    if found is None:
        return None
    return _spoken(asked, pick(_JOKES if "joke" in found[0].lower() else _STORIES, rng), rng)


def letter(asked: Asked, rng: Random) -> str | None:
    """An e-mail or a letter."""
    if not _LETTER.search(asked.text):
        return None
    subject = asked.topic.subject or "a short note"
    body = " ".join(islice(sentences(asked.topic, rng), 3))
    sender = pick(english.PERSONS, rng)
    return f"Subject: {subject[:1].upper()}{subject[1:]}\n\nHello,\n\n{body}\n\nBest regards,\n{sender}"


def summed_up(asked: Asked, rng: Random) -> str | None:
    """The sentences of a text that tell most of it."""
    if not any(_SUMMARY.search(order) for order in asked.both):
        return None
    text = _given(asked.text)
    found = [sentence.strip() for sentence in _SENTENCE.findall(text)][:_MOST_SENTENCES]
    if len(text) < _WORTH_A_SUMMARY or not found:
        return None
    asked_for = next((count for order in asked.both if (count := _number(_IN_SENTENCES, order))), 0)
    return " ".join(found[: asked_for or max(1, len(found) // 4)][:_MOST_SUMMED])


def repeated(asked: Asked, rng: Random) -> str | None:
    """The text itself, where it is to be written anew."""
    text = _given(asked.text)
    return text if _REWRITE.match(asked.text) and text and text != asked.text.strip() else None


def measured(asked: Asked, rng: Random) -> str | None:
    """So many words, sentences or paragraphs."""
    for order in asked.both:
        if number := _number(_IN_SENTENCES, order):
            return _joined(asked, rng, min(number, _MOST_SENTENCES))
        if number := _number(_IN_PARAGRAPHS, order):
            return "\n\n".join(
                _joined(asked, rng, rng.randrange(3, 5), opened=not at) for at in range(min(number, _MOST_PARAGRAPHS))
            )
        if number := _number(_IN_WORDS, order):
            return _in_words(asked, rng, min(number, _MOST_WORDS))
    return None


def _joined(asked: Asked, rng: Random, number: int, *, opened: bool = True) -> str:
    return blank(asked.topic).join(islice(sentences(asked.topic, rng, opened=opened), number))


def _in_words(asked: Asked, rng: Random, number: int) -> str:
    """So many words; one or two that would begin a sentence are left out."""
    taken = list(islice(_words(asked, rng), number))
    exactly = any(_EXACTLY.search(order) for order in asked.both)
    loose = 0 if exactly else next((at for at in (1, 2) if at < len(taken) and taken[-at - 1].endswith(".")), 0)
    return " ".join(taken[: len(taken) - loose]).rstrip(".,;:?!") + "."


def _words(asked: Asked, rng: Random) -> Iterator[str]:
    for sentence in sentences(asked.topic, rng):
        yield from sentence.split()


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return number_of(next(part for part in found.groups() if part)) if found else 0


def _spoken(asked: Asked, lines: tuple[str, ...], rng: Random) -> str:
    """Lines with their gaps filled, all of one breath."""
    speaker = Speaker(asked.topic, rng)
    written = (
        line if asked.topic.subject else line.replace("{topic}", "the day").replace("{Topic}", "The day")
        for line in lines
    )
    return "\n".join(speaker.said(line) if line else "" for line in written)


def _given(text: str) -> str:
    """The text that an order is about: what stands in quotation marks, after a colon, or in the lines below it."""
    quoted = _QUOTED.search(text)
    if quoted is not None:
        return (quoted[1] or quoted[2]).strip()
    head, sign, rest = text.partition(":")
    if sign and len(head) < _LONGEST_ORDER and len(rest.strip()) > 1:
        return rest.strip()
    first, _, rest = text.partition("\n")
    return rest.strip() if rest.strip() and len(first) < _LONGEST_ORDER else text.strip()


_MOST_SENTENCES, _MOST_PARAGRAPHS, _MOST_WORDS, _MOST_SUMMED = 50, 20, 3000, 3
_WORTH_A_SUMMARY, _LONGEST_ORDER = 60, 200
_SMALL = vocabulary("a an the of in on to for and or with from at by as")
_COUNT = (
    r"(?:exactly|about|around|at most|only|just|no more than|under|less than|fewer than|up to|max(?:imum)?(?: of)?|"
    r"within|approximately|roughly)?\s*"
)
_ONE_WORD = re.compile(
    r"(?i)\b(?:(?:in|with|using|use|only|just|answer|reply|respond|output|return)(?: exactly| only| just|"
    r" with)*\s+(?:one|a single|1|a one)[- ]word\b|one[- ]word (?:answer|reply|response)|single[- ]word)"
)
_BOUNDS = re.compile(
    r"(?i)\b(?:(?:number|integer|score|rating|rate|rank|value|scale|grade)\b[^.\n]{0,80}?\b(?:between|from|"
    r"of)\s+|score\b[^.\n]{0,40}?\()(\d{1,6})\s*(?:and|to|-|–)\s*(\d{1,6})\b"
)
_BARE_NUMBER = re.compile(r"(?i)\b(?:only|just)\b[^.\n]{0,30}\bnumber\b|\bnumber only\b|\bsingle number\b")
_EXACTLY = re.compile(r"(?i)\bexactly\b")
_TITLE = re.compile(
    r"(?i)\b(?:generate|write|create|suggest|give|come up with|propose|make|think of|provide|find|return|"
    r"need)\b(?: me| us| it| this)?(?: an?| one| the)(?: \w+,?){0,3}? (?:title|headline|slogan|tagline|subject line|"
    r"caption|name)\b"
)
_VERSES = re.compile(r"(?i)\b(haiku|poem|limerick|verse|song|sonnet|rhyme|lyrics)\b")
_STORY = re.compile(
    r"(?i)\b(?:tell|write|create|compose|make up|generate|give|want|know)\b[^.?!\n]{0,40}?\b(?:story|tale|"
    r"joke|fable|fairy tale)\b"
)
_LETTER = re.compile(
    r"(?i)\b(?:write|draft|compose|create|generate|prepare|make)\b[^.?!,;:\n]{0,40}?\b(?:(?:e-?mail|letter|memo)\b"
    r"(?! address)|message to\b)"
)
_SUMMARY = re.compile(r"(?i)\b(?:summari[sz]e|summary|tl;?dr|sum up|condense|shorten|key takeaways?)\b")
_REWRITE = re.compile(
    r"(?i)\s*(?:please )?(?:rewrite|rephrase|paraphrase|correct|proofread|fix (?:the )?(?:grammar|spelling|"
    r"typos)|improve|polish|edit|reformat)\b"
)
_IN_SENTENCES = re.compile(
    rf"(?i)\b(?:in|with|write|use|using|give(?: me)?|say|answer|to|of|one)\s+{_COUNT}(?:a |"
    rf"an )?({NUMBER})[- ](?:\w+ )?sentences?\b|\b({NUMBER})[- ]sentence\b|\b(a) (?:short |brief |single )?sentence\b"
)
_IN_PARAGRAPHS = re.compile(rf"(?i)\b({NUMBER})[- ](?:(?!words?\b|sentences?\b|lines?\b)\w+ )?paragraphs?\b")
_IN_WORDS = re.compile(
    rf"(?i)\b(?:in|with|write|use|using|of|about|to|than|give(?: me)?)\s+{_COUNT}((?!(?:an?|"
    rf"one)\b){NUMBER}) words\b|\b((?!(?:an?|one)\b){NUMBER})[- ]words?\b(?! (?:answer|reply))"
)
_QUOTED = re.compile(r"(?s)\"{3}\s*(.{20,8000}?)\s*\"{3}|^[^\"“]{0,200}[\"“]([^\"”]{20,8000})[\"”]")
_SENTENCE = re.compile(r"(?:[^.!?\n。！？]|[.](?=\S)){2,1000}[.!?。！？]*")

_HAIKU = (
    ("{Topic} at dawn,", "a quiet measure of {a},", "then the day begins."),
    ("Thinking of {topic},", "the wind carries some {a};", "the pond lies still."),
    ("Nothing but {topic},", "and a little {a} to spare.", "Evening comes slowly."),
)
_POEMS = (
    ("Of {topic} I was asked to write,", "of {a} by day and {b} by night;", "I weighed the words, I let them go,",
     "and that is all there is to know."),
    ("{Topic}, so I heard them say,", "will take some {a} every day;", "and when the {b} has come around,",
     "there is no better thing to be found."),
)  # fmt: skip
_STORIES = (
    ("Once, in a small town {place}, everybody spoke of {topic}. Only {person} stayed silent.",
     "", "One evening {person} went out alone and found that {a} had been the answer all along. The rest came later.",
     "", "From that day on, nobody in the town worried about {topic} again."),
    ("{person} had never thought much about {topic}, until a letter arrived {time}.",
     "", "It asked for {a}, and for a little {b}. So the journey began, first on foot and then by boat.",
     "", "In the end {topic} turned out to be quite simple, as such things often are."),
)  # fmt: skip
_JOKES = (
    ("Why did {topic} cross the road?", "To get to the {a} on the other side."),
    ("What do {topic} and a clock have in common?", "Without {a}, both are late."),
)


def small_talk(asked: Asked, rng: Random) -> str | None:
    """An answer to a greeting, to thanks, to a question about oneself; None where something is asked for."""
    text = asked.text.strip()
    if len(text) > _LONGEST:
        return None
    for pattern, answers in _ANSWERS:
        if pattern.fullmatch(text):
            return answers[rng.randrange(len(answers))]
    if (named := _SELF.fullmatch(text)) is not None and named[1].split()[0].lower() not in _NO_NAMES:
        return f"Hello {named[1][:1].upper()}{named[1][1:]}! How can I help you today?"
    if (answer := _courteous(text, asked.topic.language)) is not None:
        return answer
    if _FOREIGN.fullmatch(text):
        language = LANGUAGES.get(asked.topic.language)
        return language.greeting if language and asked.topic.language != ENGLISH else GREETINGS[0]
    return None


def _courteous(text: str, language: str) -> str | None:
    """An answer to thanks and the like in another language: in the one that the text seems to be in, if it knows it."""
    bare = _GREETED.sub("", text.lower().strip(SIGNS), count=1)
    known = _courtesies()
    for code in (language, *known):
        for pattern, answer in known.get(code, ()):
            if pattern.fullmatch(bare):
                return answer
    return None


@cache
def _courtesies() -> dict[str, tuple[tuple[re.Pattern[str], str], ...]]:
    return {code: tuple((re.compile(told), answer) for told, answer in said) for code, said in COURTESIES.items()}


# Of these, at least one opens any small talk.
GREETING_WORDS = (
    "hi hello hey hiya howdy yo greetings morning afternoon evening thanks thank thx cheers bye goodbye "
    "night see you your "
    "yourself help test testing ping ok okay yes no sure great cool nice perfect good fine yep nope "
    "alright i im my call m are got hallo hola ciao salut bonjour moin servus ola oi halo hoi hej selam tag morgen"
)

_LONGEST = 80
_NAMED = (
    r"(?:[\s,]+(?:there|all|everyone|everybody|friend|bot|assistant|again|world|model|ai|gpt|computer|you|"
    r"team|folks))?"
)
_END = r"[\s!.,?)(:;-]*"
_SELF = re.compile(
    rf"(?:(?i:hi|hello|hey|good (?:morning|afternoon|evening)){_NAMED}[\s!.,]*)?"
    rf"(?:(?i:i'm|i am|i’m|im|my name is|my name's|call me)|[Tt]his is(?= [A-Z])) "
    rf"((?!\w+(?:ed|ing|ful|ous|ive|less|able|ish)\b)\w[\w'’-]{{1,30}}(?: [A-Z][\w'’-]{{1,30}}){{0,2}}){_END}"
)
_NO_NAMES = vocabulary(
    "sad happy fine good ok okay back here sorry hungry sick ill lost late done new ready sure afraid stuck "
    "great well angry lonely busy not a an the so very too just in on at from test it wrong right your no"
)
_GREETED = re.compile(
    r"(?:hallo|guten (?:tag|morgen|abend)|bonjour|salut|hola|ciao|olá|oi|hoi|hej|cześć|привет|здравствуйте|привіт|"
    r"こんにちは|你好|안녕(?:하세요)?)[\s,!.。、，！¿¡]+"
)
_ANSWERS = (
    (
        re.compile(
            rf"(?i)(?:hi|hello|hey|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|"
            rf"day)){_NAMED}{_END}"),
        GREETINGS,
    ),
    (
        re.compile(
            rf"(?i)(?:(?:hi|hello|hey){_NAMED}[\s,!.]*)?how(?:'s it going|\s+are\s+you|"
            rf"\s+do\s+you\s+do)(?: doing)?(?: today)?{_END}"),
        ("I am doing well, thank you. How can I help you?", "Very well, thank you! What can I do for you?"),
    ),
    (
        re.compile(
            rf"(?i)(?:thanks|thank you|thx|cheers)(?: (?:so|very) much|"
            rf" a lot)?{_NAMED}(?: for [^?\n]{{1,60}})?{_END}"),
        ("You are welcome! Is there anything else?", "You are welcome. I am glad to help."),
    ),
    (re.compile(
        rf"(?i)(?:bye|goodbye|good night|see you|"
        rf"see you later){_NAMED}{_END}"), ("Goodbye! Until next time.", "Goodbye!")),
    (
        re.compile(
            rf"(?i)(?:who|what) are you{_END}|what(?:'s| is) your name{_END}|introduce yourself{_END}|"
            rf"what model are you{_END}|"
            rf"which model are you{_END}|tell me about yourself{_END}"
        ),
        ("I am a stand-in for a language model: I have no weights, and I make my answers up.",),
    ),
    (
        re.compile(
            rf"(?i)are you (?:an? |the )?(?:real )?(?:chatgpt|gpt\S{{0,8}}|openai|claude|gemini|llama|mistral|human|"
            rf"person|robot|bot|ai|machine|(?:large )?language model|real|alive|there){_END}"),
        ("I am a stand-in for a language model, and I am here.",),
    ),
    (
        re.compile(rf"(?i)what can you do(?: for me)?{_END}|(?:can you )?help(?: me)?{_END}"),
        ("I can answer questions, write lists and tables, fill in JSON and call tools, all of it made up.",),
    ),
    (re.compile(
        rf"(?i)(?:this is (?:just )?a |just )?test(?:ing)?{_END}(?:1|one)?[\s,]*(?:2|two)?[\s,]*(?:3|"
        rf"three)?{_END}"), ("The test has arrived.",)),
    (
        re.compile(rf"(?i)(?:ok|okay|yes|no|sure|great|cool|nice|perfect|good|fine|yep|nope|alright|got it){_END}"),
        ("Good. What would you like to do next?", "Understood. What comes next?"),
    ),
    (re.compile(rf"(?i)ping{_END}"), ("pong",)),
)  # fmt: skip
_FOREIGN = re.compile(
    r"(?i)(?:hallo|guten (?:tag|morgen|abend)|servus|grüezi|moin|bonjour|bonsoir|salut|hola|"
    r"buen[oa]s (?:días|dias|tardes|noches)|ciao|"
    r"buongiorno|buonasera|olá|ola|oi|bom dia|boa (?:tarde|noite)|cześć|dzień dobry|ahoj|dobrý den|hej|"
    r"god (?:morgon|morgen|dag)|merhaba|"
    r"selam|günaydın|привет|здравствуйте|добрый (?:день|вечер)|привіт|вітаю|добрий день|γεια(?: σας| σου)?|"
    r"καλημέρα|你好|您好|早上好|"
    r"こんにちは|おはよう(?:ございます)?|안녕(?:하세요)?|مرحبا|السلام عليكم|سلام|שלום|नमस्ते|สวัสดี(?:ครับ|"
    r"ค่ะ)?|xin chào|halo|goedemorgen|"
    r"goedendag|hoi)[\s!.,?！。،؟]*"
)
