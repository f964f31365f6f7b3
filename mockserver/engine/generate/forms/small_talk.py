"""What is said where nothing is asked: greetings, thanks, who one is."""

import re
from functools import cache

from mockserver.core.seed import Random
from mockserver.engine.generate.forms.asked import Asked
from mockserver.engine.generate.languages import ENGLISH, LANGUAGES
from mockserver.engine.generate.languages.courtesy import COURTESIES
from mockserver.engine.generate.languages.english import GREETINGS
from mockserver.engine.generate.questions import SIGNS
from mockserver.engine.generate.vocabulary import vocabulary


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
