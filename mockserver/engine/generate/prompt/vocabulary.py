"""Words that stand for a value: languages, colours, ways to say what is listed, yes and no. Tables only."""

from mockserver.engine.generate.prompt.words import listed

LANGUAGES: dict[str, str] = {
    "english": "en",
    "german": "de",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "portuguese": "pt",
    "dutch": "nl",
    "japanese": "ja",
    "chinese": "zh",
    "korean": "ko",
    "russian": "ru",
    "arabic": "ar",
    "hindi": "hi",
    "turkish": "tr",
    "polish": "pl",
    "swedish": "sv",
    "danish": "da",
    "norwegian": "no",
    "finnish": "fi",
    "greek": "el",
    "hebrew": "he",
    "czech": "cs",
    "hungarian": "hu",
    "thai": "th",
    "vietnamese": "vi",
    "ukrainian": "uk",
    "romanian": "ro",
    "indonesian": "id",
    "latin": "la",
    "deutsch": "de",
    "englisch": "en",
    "französisch": "fr",
    "spanisch": "es",
    "anglais": "en",
    "français": "fr",
    "allemand": "de",
    "espagnol": "es",
    "inglés": "en",
    "francés": "fr",
    "alemán": "de",
    "español": "es",
    "inglese": "en",
    "mandarin": "zh",
    "python": "py",
    "javascript": "js",
}

COLORS = frozenset(
    listed(
        "red green blue yellow black white orange purple pink brown grey gray silver gold beige navy teal cyan"
        " magenta turquoise violet maroon rot grün blau gelb schwarz weiß rouge vert bleu jaune noir blanc rojo"
        " verde azul negro"
    )
)

# Other ways to say a value of an enumeration.
SPOKEN: dict[str, tuple[str, ...]] = {
    "c": ("celsius", "°c", "centigrade", "metric"),
    "f": ("fahrenheit", "°f"),
    "k": ("kelvin",),
    "celsius": ("°c", "centigrade"),
    "fahrenheit": ("°f",),
    "metric": ("celsius", "°c", "kilometers", "km"),
    "imperial": ("fahrenheit", "°f", "miles"),
    "+": ("plus", "add", "sum", "addition"),
    "-": ("minus", "subtract", "less"),
    "*": ("times", "multiply", "multiplied"),
    "/": ("divide", "divided", "over"),
    "add": ("plus", "sum", "addition", "+"),
    "subtract": ("minus", "subtraction"),
    "multiply": ("times", "product", "multiplied", "multiplication"),
    "divide": ("divided", "quotient", "division"),
    "km": ("kilometer", "kilometre"),
    "mi": ("mile",),
    "m": ("medium", "meter", "metre", "male"),
    "s": ("small",),
    "l": ("large",),
    "xl": ("extra large",),
    "kg": ("kilogram",),
    "lb": ("pound",),
    "asc": ("ascending", "increasing"),
    "desc": ("descending", "decreasing"),
    "urgent": ("asap",),
    "ascending": ("asc",),
    "descending": ("desc",),
    "high": ("urgent", "important", "hoch", "alta"),
    "low": ("niedrig", "minor"),
    "critical": ("blocker", "sev1"),
    "prod": ("production", "live"),
    "usd": ("dollar",),
    "eur": ("euro", "€"),
    "gbp": ("pound",),
    "jpy": ("yen",),
    "in_progress": ("started", "wip"),
    "done": ("finished", "completed", "resolved"),
    "closed": ("done", "resolved"),
    "female": ("woman", "she"),
    "male": ("man", "he"),
    "positive": ("love", "great", "excellent", "amazing"),
    "negative": ("hate", "terrible", "awful", "worst", "horrible"),
    "buy": ("purchase",),
    "sell": ("selling",),
    "get": ("fetch",),
    "delete": ("remove",),
    "create": ("make",),
    "bug": ("crash", "broken"),
    "py": ("python",),
}

# Words too common to be taken for a value of an enumeration without more.
COMMON = frozenset(
    listed("on off in to at all no any other none is a an by for from of up out one first last new and or it me i")
)

NEGATIONS = frozenset(
    listed(
        "no not non without don't dont doesn't disable disabled deactivate never exclude excluding skip off stop"
        " mute isn't"
        " unset nicht kein keine ohne sans pas sin non can't won't avoid ignore hide"
    )
)
AFFIRMATIONS = frozenset(
    listed("with enable enabled include including activate yes on also allow use please should must is")
)
TRUTHS: dict[str, bool] = {
    **dict.fromkeys(listed("yes true on enabled y ja oui sí si sim enable active"), True),
    **dict.fromkeys(listed("no false off disabled n nein non não disable inactive"), False),
}
