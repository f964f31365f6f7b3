"""Words that carry no value but tell what one is: prepositions, articles, verbs of request, in some languages.

Knows single words only, no texts.
"""

import re
from functools import lru_cache


def vocabulary(words: str) -> frozenset[str]:
    """The words of a line."""
    return frozenset(words.split())


def ends(text: str, head: int, tail: int) -> str:
    """A text, or so many characters of its beginning and of its end, each on lines of its own."""
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[len(text) - tail :]}"


def excerpt(text: str, most: int = 10_000) -> str:
    """A text as far as it is read: of a huge one, its end above all."""
    return ends(text, most // 5, most * 4 // 5)


_SHORT = 200  # characters of a name whose words are remembered
_PARTS = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]+")


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A word without case and plural ending: "Cities" is "city", "address" stays."""
    word = word.lower()
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def listed(words: str) -> tuple[str, ...]:
    """The words of a text: tables of words are written as one."""
    return tuple(words.split())


def parts(name: str) -> tuple[str, ...]:
    """The stems of the words that a name is made of: `fromCity` and `from_cities` are from and city."""
    return _known_parts(name) if len(name) < _SHORT else tuple(map(stem, _PARTS.findall(name)))


@lru_cache(maxsize=4096)
def _known_parts(name: str) -> tuple[str, ...]:
    return tuple(map(stem, _PARTS.findall(name)))


def cues(text: str) -> dict[str, str]:
    """The prepositions of the text's language and of English, each with its meaning in English."""
    seen = re.findall(r"[^\W\d_]{1,20}", text[:2_000].lower())
    counted = {name: sum(word in marks for word in seen) for name, marks in _MARKS.items()}
    language = max(counted, key=lambda name: counted[name])
    return CUES["en"] | CUES[language] if counted[language] > counted["en"] else CUES["en"]


_MARKS: dict[str, frozenset[str]] = {
    "en": frozenset(listed("the is of and with please what for my me find show get this that are it")),
    "de": frozenset(listed("der die das ist und mit bitte was für mein mir ein eine wie den von nach ich im am")),
    "fr": frozenset(
        listed("le la les est et avec pour mon une un quel des du je moi de quelle au que en à suis dans ai qu")
    ),
    "es": frozenset(listed("el la los es y con para mi una un que qué del de por las hace en")),
    "it": frozenset(listed("il la gli è e con per mio una un che di del da le i in")),
    "pt": frozenset(listed("o a os é e com para meu uma um que do de da em no na")),
    "nl": frozenset(listed("de het een is en met voor mijn wat van naar ik")),
}

# Prepositions and words that announce a value, by language, each with its meaning in English.
CUES: dict[str, dict[str, str]] = {
    "en": {
        **{word: word for word in listed("in at from to for with by about near of on as between into under over")},
        **dict.fromkeys(("named", "called", "titled", "entitled", "labelled", "labeled", "tagged"), "named"),
        **dict.fromkeys(("until", "till", "through", "before"), "until"),
        **dict.fromkeys(("since", "after", "starting", "beginning"), "since"),
        **dict.fromkeys(("regarding", "concerning", "around"), "about"),
        **dict.fromkeys(("within", "inside"), "in"),
        **dict.fromkeys(("toward", "towards"), "to"),
        **dict.fromkeys(("cc", "than", "per", "via", "using", "because", "against", "containing"), "other"),
        "above": "over",
        "below": "under",
    },
    "de": {"im": "in", "nach": "to", "zum": "to", "zur": "to", "zu": "to", "an": "to", "von": "from", "vom": "from"}
    | {"aus": "from", "ab": "since", "bis": "until", "für": "for", "mit": "with", "über": "about", "bei": "near"}
    | {"am": "on", "um": "at", "ins": "into", "namens": "named", "unter": "under"},
    "fr": {"à": "to", "en": "in", "dans": "in", "au": "to", "aux": "to", "vers": "to", "depuis": "from", "de": "from"}
    | {"du": "from", "pour": "for", "avec": "with", "sur": "about", "chez": "near", "par": "by", "nommé": "named"}
    | {"jusqu": "until", "le": "on", "appelé": "named"},
    "es": {"en": "in", "a": "to", "al": "to", "hacia": "to", "hasta": "until", "de": "from", "desde": "from"}
    | {"del": "from", "para": "for", "con": "with", "sobre": "about", "por": "by", "llamado": "named", "el": "on"},
    "it": {"a": "to", "ad": "to", "al": "to", "di": "from", "da": "from", "dal": "from", "nel": "in", "per": "for"}
    | {"con": "with", "su": "about", "fino": "until", "chiamato": "named"},
    "pt": {"em": "in", "no": "in", "na": "in", "para": "to", "de": "from", "do": "from", "da": "from", "até": "until"}
    | {"com": "with", "sobre": "about", "por": "by", "chamado": "named"},
    "nl": {"naar": "to", "van": "from", "voor": "for", "met": "with", "over": "about", "bij": "near", "op": "on"}
    | {"tot": "until", "genaamd": "named"},
}

# Articles and the like: they stand between a cue and what it announces.
ARTICLES = frozenset(
    listed(
        "the a an my our your his her its their this that these those some any all each every next last der die"
        " das den dem des ein eine einen einem einer mein meine le la les un une des mon ma mes el los las una mi"
        " il lo gli i o os um uma het een de"
    )
)

# Words that end a phrase, beside cues and articles.
STOPS = frozenset(
    listed(
        "and or but if then so also plus not no yes i me you he she it we they him us them who whom what when"
        " where why how which is are was were be been being am do does did done has have had having can could will"
        " would shall should may might must please thanks thank hello hi hey there here just now today tomorrow"
        " yesterday tonight only than because while don't doesn't isn't i'm it's what's let let's i'd i'll i've"
        " less more least most out once twice thrice daily each x"
        " without including until via per using during let's und oder aber ist sind war wie wer wo wann ich mir"
        " mich du er sie es wir ihr bitte morgen heute et ou mais est sont je tu il elle nous vous quel quelle qui"
        " que quoi quand où demain aujourd'hui y e es son está yo qué cuál quién dónde cuándo mañana hoy por favor"
        " c'è è sono che chi dove quando domani oggi é são quem onde amanhã hoje en is zijn wat morgen vandaag"
    )
)

# Verbs and nouns of requests that a sentence begins with; capitalised there, they are no names.
REQUESTS = frozenset(
    listed(
        "add ask assign apply allocate analyze analyse append archive arrange attach approve begin block book"
        " bring build buy calculate call cancel change charge check choose classify clean clear click close"
        " compare compile complete compose compute configure contact convert copy count create deactivate debug"
        " define delete deliver deploy describe determine detect dim disable display divide do download draft draw"
        " edit email enable enter estimate evaluate execute exchange explain export extract fetch fill filter find"
        " fix flip follow format forward gather generate get give go google grab grant handle help hide identify"
        " import increase decrease insert inspect install invite invoice issue keep kill launch list load locate"
        " lock log look lookup make mark measure merge message modify move multiply navigate need new note notify"
        " open order pause pay ping plan play post predict prepare print process provide publish pull push put"
        " query raise rate read recommend record reduce refund register reject release remind remove rename rent"
        " repeat replace reply report request reschedule reserve reset resolve restart restore resume retrieve"
        " return review roll route run save say schedule search see select sell send set share ship show shut sign"
        " simulate solve sort start stop store submit subscribe subtract suggest sum summarise summarize switch"
        " take tell test text track transfer translate try tune turn unlock update upload use validate verify"
        " visit wake want watch weather withdraw work write queue mute unmute refill renew scale grep prescribe"
        " dispatch enroll escalate subscribe merge comment irrigate ping quiz grade skip tag lower turn what"
        " what's when where who why how which is are was"
        " can could would will please hi hello hey dear thanks thank ok okay sure yes no first then finally also"
        " next after before if for in on at from to with by about forecast hotels flights flight hotel reserva"
        " reserve réserve busca traduce crea envía cherche trouve donne envoie traduis crée montre suche finde"
        " zeige sende erstelle buche übersetze schreibe gib quel quelle qui was wie wer wo wann cerca trova"
        " prenota traduci mostra qual quale"
    )
)


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


def _named(names: str) -> frozenset[str]:
    return frozenset(" ".join(name.split()) for name in names.split(","))


COUNTRIES = _named("""
afghanistan, albania, alemanha, alemania, algeria, allemagne, andorra, angleterre, angola, argentina, armenia,
australia, austria, azerbaijan, bahamas, bahrain, bangladesh, barbados, belarus, belgien, belgique, belgium, belize,
benin, bhutan, bolivia, bosnia, botswana, brasil, brazil, brunei, bulgaria, burundi, cambodia, cameroon, canada, chad,
chile, china, colombia, congo, costa rica, croatia, cuba, cyprus, czech republic, czechia, denmark, deutschland,
djibouti, dominican republic, ecuador, egypt, el salvador, england, eritrea, espagne, espanha, españa, estados unidos,
estonia, eswatini, ethiopia, fiji, finland, france, francia, frankreich, gabon, gambia, germania, germany, ghana,
great britain, greece, greenland, grenada, guatemala, guinea, guyana, haiti, honduras, hungary, iceland, india,
indonesia, iran, iraq, ireland, israel, italia, italie, italien, italy, ivory coast, jamaica, japan, jordan,
kazakhstan, kenya, kosovo, kuwait, kyrgyzstan, laos, latvia, lebanon, lesotho, liberia, libya, liechtenstein,
lithuania, luxembourg, madagascar, malawi, malaysia, maldives, mali, malta, mauritania, mauritius, mexico, moldova,
monaco, mongolia, montenegro, morocco, mozambique, myanmar, méxico, namibia, nepal, netherlands, new zealand,
nicaragua, niederlande, niger, nigeria, north korea, north macedonia, norway, oman, pakistan, panama, papua new
guinea, paraguay, peru, perú, philippines, poland, polen, portugal, qatar, romania, russia, rwanda, saudi arabia,
schweiz, scotland, senegal, serbia, seychelles, sierra leone, singapore, slovakia, slovenia, somalia, south africa,
south korea, south sudan, spagna, spain, spanien, sri lanka, sudan, suisse, suiza, suriname, suíça, svizzera, sweden,
switzerland, syria, taiwan, tajikistan, tanzania, thailand, the netherlands, togo, tonga, trinidad, tunisia, turkey,
turkmenistan, türkei, türkiye, uae, uganda, uk, ukraine, united arab emirates, united kingdom, united states, united
states of america, uruguay, us, usa, uzbekistan, vanuatu, vatican, venezuela, vietnam, wales, yemen, zambia, zimbabwe,
états-unis, österreich
""")
STATES = _named("""
alabama, alaska, georgia, alberta, arizona, arkansas, bavaria, bayern, british columbia, california, colorado,
connecticut,
delaware, florida, hawaii, hessen, idaho, illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland,
massachusetts, michigan, minnesota, mississippi, missouri, montana, nebraska, nevada, new hampshire, new jersey, new
mexico, new south wales, north carolina, north dakota, ohio, oklahoma, ontario, oregon, pennsylvania, quebec,
queensland, rhode island, sachsen, saxony, south carolina, south dakota, tasmania, tennessee, texas, utah, vermont,
victoria, virginia, west virginia, wisconsin, wyoming
""")
NATIONALITIES = _named("""
afghan, african, albanian, algerian, american, arab, argentine, argentinian, armenian, asian, australian, austrian,
bangladeshi, belgian, bolivian, brazilian, british, bulgarian, cambodian, canadian, caribbean, chilean, chinese,
colombian, croatian, cuban, czech, danish, dutch, egyptian, english, estonian, ethiopian, european, filipino, finnish,
french, georgian, german, ghanaian, greek, hungarian, icelandic, indian, indonesian, iranian, iraqi, irish, israeli,
italian, jamaican, japanese, jewish, jordanian, kenyan, korean, latvian, lebanese, lithuanian, malaysian,
mediterranean, mexican, mongolian, moroccan, nepali, nigerian, norwegian, pakistani, persian, peruvian, polish,
portuguese, romanian, russian, saudi, scottish, serbian, slovak, slovenian, spanish, swedish, swiss, syrian,
taiwanese, thai, tunisian, turkish, ukrainian, vietnamese, welsh
""")
