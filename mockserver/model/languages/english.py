"""Sentences about anything at all, in English. Mere tables.

In them stand `{topic}` for the subject and `{Topic}` where it opens the sentence, `{is}`, `{has}` and the like for
verbs that agree with it, `{word}` for a word of the prompt, `{a}` and `{b}` for two aspects (`{A}` opens a sentence).
"""

# How an answer opens, by what is asked. `{said}` is the question itself, without its sign, `{act}` what is to be done.
OPENERS: dict[str, tuple[str, ...]] = {
    "what": (
        "{Topic} {is} mostly a matter of {a} and {b}.",
        "In short, {topic} {comes} down to {a}, with a little {b}.",
        "{Topic} {is} best understood through {a} and {b}.",
        "Put simply, {topic} {has} to do with {a} and {b}.",
    ),
    "how": (
        "To {act}, start with {a} and then look at {b}.",
        "The simplest way to {act} begins with {a}.",
        "You can {act} in a few steps, and {a} comes first.",
    ),
    "why": (
        "{Said}? Mostly because of {a}, and partly because of {b}.",
        "{Said}? The short answer is {a}; the longer one includes {b}.",
    ),
    "yes": (
        "Yes, in most cases, as long as {a} allows it.",
        "Yes, although much depends on {a} and {b}.",
        "No, not as a rule, because {a} usually gets in the way.",
        "Yes. With {topic}, {a} is what decides.",
    ),
    "when": (
        "Usually {time}, although {a} can change that.",
        "Most likely {time}, if {a} allows it.",
    ),
    "where": (
        "Most likely {place}, which is where {topic} would be expected.",
        "Usually {place}, although {a} can change that.",
    ),
    "who": (
        "That would be {person}, as far as {topic} {is} concerned.",
        "Most people would name {person} here, because of {a} and {b}.",
    ),
    "count": (
        "About {number}, give or take a few, depending on {a}.",
        "Roughly {number}, although {a} can change that.",
    ),
    "tell": (
        "{Topic} {depends} on {a} and {b} more than on anything else.",
        "When it comes to {topic}, {a} matters most.",
        "With {topic}, it helps to begin with {a} and to keep {b} in mind.",
        "There is a lot to say about {topic}, and most of it concerns {a}.",
        "{Topic} {has} two sides: {a} and {b}.",
    ),
    "do": (
        "To {act}, start with {a} and then look at {b}.",
        "Here is a simple way to {act}: begin with {a}, and leave {b} for later.",
    ),
    "state": (
        "I see. Here {a} is a good place to begin.",
        "Noted. {A} usually decides here, and {b} comes second.",
        "I understand. It may help to begin with {a} and to leave {b} for later.",
        "Thank you for telling me. {A} matters most here, I should say.",
    ),
    "": (
        "A good answer begins with {a} and ends with {b}.",
        "Much depends on {a}, and a little on {b}.",
        "That is mostly a matter of {a} and {b}.",
    ),
}

# What ends a sentence that somebody else has begun.
ENDINGS = (
    "with some {a} and, now and then, a little {b}.",
    "and all the {a} that comes with it.",
    "where {a} meets {b}.",
    "in which {a} mattered more than {b}.",
    "with {a} on one side and {b} on the other.",
)

MIDDLES = (
    "A good first step is to compare {a} with {b}.",
    "It helps to look at {a} before {b}.",
    "Most people begin with {a} and come to {b} later.",
    "In practice, {a} matters more than one would expect.",
    "Small differences in {a} add up over time.",
    "If {a} is uncertain, {b} is the safer guide.",
    "There is rarely a single right answer, so a short list of options is useful.",
    "With {word} in mind, {a} deserves a second look.",
    "As for {word}, the usual advice is to start small.",
    "Both {a} and {b} play a part, although not always at the same time.",
    "Too much {a} is rarely a problem, while too little {b} often is.",
    "A simple plan for {word} is better than none at all.",
    "Where {a} and {b} disagree, it is worth asking why.",
    "Nothing about this needs to be done in a hurry.",
    "What works in one place may need more {a} in another.",
    "Whenever the talk turns to {word}, {a} is part of the reason.",
    "{A} is easy to overlook at first.",
    "{A} without {b} seldom lasts.",
    "Once that is settled, the rest tends to follow.",
    "A few careful notes on {word} save time later.",
    "Others put {b} first, which works just as well.",
    "The details change from case to case, but the order stays the same.",
    "For {topic}, a modest amount of {a} goes a long way.",
    "It is fair to say that {topic} {takes} some {a}.",
)

CLOSERS = (
    "In the end, {a} decides.",
    "That should be enough to get started.",
    "If you say more about {word}, the answer can be more specific.",
    "In short: {a} first, then {b}.",
    "Beyond that, it is a matter of taste.",
)

THOUGHTS = (
    "The user asks about {topic}.",
    "First I should find out what matters here: probably {a} and {b}.",
    "There are two ways to look at {topic}: through {a}, or through {b}.",
    "I could begin with {a}, since the user mentions {word}.",
    "Does {b} change anything? Not much, as far as I can see.",
    "Let me check {word} once more.",
    "If {a} comes first, then {b} follows.",
    "Another reading would be about {b} alone, but that seems less likely.",
    "I should keep the answer short and clear.",
    "It would be wrong to promise more than that.",
    "So {a} it is, with a word on {b}.",
    "That leaves the question of {word}, which I can treat briefly.",
)

ASPECTS = (
    "price", "timing", "quality", "distance", "weather", "experience", "comfort", "habit", "patience", "planning",
    "context", "scale", "cost", "effort", "practice", "balance", "trust", "attention", "flexibility", "simplicity",
    "care", "order", "rhythm", "preparation",
)  # fmt: skip
TIMES = (
    "early in the morning", "in late spring", "after the first week", "on a quiet Tuesday",
    "towards the end of the year", "in the afternoon", "around noon", "in autumn",
)  # fmt: skip
PLACES = (
    "near the centre", "by the river", "on the upper floor", "close to the station", "a little outside town",
    "at the usual place", "in the north",
)  # fmt: skip
PERSONS = ("Ada Example", "Jo Sample", "Robin Placeholder", "Sam Instance", "Kim Fixture", "Alex Specimen")

# Verbs as one thing does it, and as several do.
VERBS = {
    "is": ("is", "are"),
    "has": ("has", "have"),
    "comes": ("comes", "come"),
    "depends": ("depends", "depend"),
    "takes": ("takes", "take"),
}
GREETINGS = (
    "Hello! How can I help you today?",
    "Hi there! What can I do for you?",
    "Hello! What would you like to know?",
)
