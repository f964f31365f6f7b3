"""Unlike phrasings of what prompts order, each with what its answer must look like: no phrasing is special."""

# ruff: noqa: E501  (a prompt is one line)

import ast
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.call import Message
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model.auto import auto
from tests.kit.calls import call

Check = Callable[[str], bool]
PHRASINGS: dict[str, list[tuple[str, Check]]] = {}  # by what is ordered; "rules ¦ what the user says"


def answered(prompt: str, seed: str) -> str:
    rules, _, said = prompt.rpartition(" ¦ ")
    messages = [Message("system", rules)] if rules else []
    parts = auto(call(*messages, Message("user", said)), Seed(seed), {}).parts
    return "".join(part.text for part in parts if isinstance(part, Text))


def matches(pattern: str) -> Check:
    return lambda text: re.fullmatch(pattern, text.strip(), re.DOTALL) is not None


def is_json(expected: Any) -> Check:
    """JSON that is equal, or for which a function holds."""

    def holds(text: str) -> bool:
        fenced = re.fullmatch(r"```(?:json)?\n(.*)\n```", text.strip(), re.DOTALL)
        value = json.loads(fenced[1] if fenced else text)
        return bool(expected(value)) if callable(expected) else value == expected

    return holds


def is_literal(holds: Callable[[Any], bool]) -> Check:
    return lambda text: holds(ast.literal_eval(text))


def keys(*names: str) -> Check:
    return is_json(lambda value: list(value) == [*names])


def rows(number: int, *names: str) -> Check:
    return is_json(lambda value: len(value) == number and all(list(row) == [*names] for row in value))


def is_lines(number: int, pattern: str = r".{3,}", between: str = "\n") -> Check:
    def holds(text: str) -> bool:
        items = text.strip().split(between)
        return len(items) == len(set(items)) == number and all(re.fullmatch(pattern, item) for item in items)

    return holds


def is_row(number: int, pattern: str = r"[^,\n]{2,}") -> Check:
    return is_lines(number, pattern, ", ")


PHRASINGS["array of objects"] = [
    (
        'Return a JSON array of objects with "name" and "price" for each product in: "Lamp for 20 EUR, Chair for 45.50 EUR". Do not wrap it in markdown.',
        is_json([{"name": "Lamp", "price": 20}, {"name": "Chair", "price": 45.5}]),
    ),
    ("Give me a JSON list of 3 objects, each with keys id and title.", rows(3, "id", "title")),
    (
        "Output a JSON array where each element has the fields `city` and `population`. Include Paris and Rome.",
        is_json(lambda v: len(v) >= 1 and all(list(r) == ["city", "population"] for r in v)),
    ),
    (
        'Respond with an array of JSON objects having the properties "question", "answer".',
        is_json(lambda v: 1 <= len(v) < 9 and list(v[0]) == ["question", "answer"]),
    ),
    (
        "Extract all people as a JSON array of objects with keys name and age: Tom is 31 and Ann is 27.",
        is_json([{"name": "Tom", "age": 31}, {"name": "Ann", "age": 27}]),
    ),
    ('Generate four flashcards as a JSON array; every item must contain "front" and "back".', rows(4, "front", "back")),
    (
        'Return JSON: a list of objects, each containing "task", "owner" and "due".',
        is_json(lambda v: 1 <= len(v) < 9 and list(v[0]) == ["task", "owner", "due"]),
    ),
    (
        'You return only JSON arrays of objects with the keys "entity" and "type". ¦ Berlin is where Siemens was founded.',
        is_json(lambda v: 1 <= len(v) < 9 and list(v[0]) == ["entity", "type"]),
    ),
    ("List 2 risks in JSON format as an array of {risk, severity} objects.", rows(2, "risk", "severity")),
    (
        "Produce exactly 5 quiz questions. Format: JSON array of objects with question (string), options (array of strings) and correct (integer).",
        is_json(
            lambda v: (
                len(v) == 5
                and all(
                    isinstance(r["options"], list) and isinstance(r["correct"], int) and isinstance(r["question"], str)
                    for r in v
                )
            )
        ),
    ),
]
PHRASINGS["fields in words"] = [
    (
        "Extract: order_id (int), reason (string), wants_refund (boolean). Output strictly a JSON object with these keys and nothing else. ¦ I want to return my shoes, order number 88123, they're too small",
        is_json(
            lambda v: (
                v["order_id"] == 88123
                and isinstance(v["reason"], str)
                and isinstance(v["wants_refund"], bool)
                and len(v) == 3
            )
        ),
    ),
    (
        "Return a JSON object with fields a (int), b (string).",
        is_json(lambda v: type(v["a"]) is int and isinstance(v["b"], str) and len(v) == 2),
    ),
    (
        "Reply in JSON. The object has three keys: title (string), year (integer), tags (list of strings).",
        is_json(
            lambda v: (
                type(v["year"]) is int and isinstance(v["tags"], list) and isinstance(v["title"], str) and len(v) == 3
            )
        ),
    ),
    (
        'Your output must be JSON with the following keys:\n- "summary": a one sentence summary\n- "score": number between 0 and 10\n- "spam": true or false\nText: Buy now!',
        is_json(lambda v: 0 <= v["score"] <= 10 and isinstance(v["spam"], bool) and isinstance(v["summary"], str)),
    ),
    (
        'Answer with valid JSON containing "name" (string) and "active" (bool).',
        is_json(lambda v: isinstance(v["active"], bool) and isinstance(v["name"], str) and len(v) == 2),
    ),
    ('Return {"city": ..., "country": ...} strictly. I live in Oslo, Norway.', keys("city", "country")),
    ("Produce a JSON dictionary whose keys are subject, body and priority.", keys("subject", "body", "priority")),
    (
        "Respond using JSON only, keys: `intent` (str), `confidence` (float).",
        is_json(lambda v: isinstance(v["intent"], str) and type(v["confidence"]) is float),
    ),
    (
        "Output JSON with exactly these fields: vendor, total, currency. Invoice: ACME GmbH, total 120.50 EUR",
        is_json(
            lambda v: v["total"] == 120.5 and v["currency"] == "EUR" and list(v) == ["vendor", "total", "currency"]
        ),
    ),
    (
        'Extract the person, company and date … JSON: {"person": string, "company": string, "date": "YYYY-MM-DD"}\n\nText: Maria Lopez joined Siemens on 2024-03-15.',
        is_json({"person": "Maria Lopez", "company": "Siemens", "date": "2024-03-15"}),
    ),
    (
        "Parse the following into a JSON object (fields: sender, amount as a number, paid as a boolean): Bob sent 40 dollars, paid.",
        is_json(lambda v: v["amount"] == 40 and v["paid"] is True and len(v) == 3),
    ),
    (
        "I need json back with name, email & phone. Contact: Jo Ray, jo@x.org, +49 30 1234567",
        is_json(lambda v: v["email"] == "jo@x.org" and list(v) == ["name", "email", "phone"]),
    ),
    (
        'Give me a JSON object with a "steps" key that is a list of strings and a "title" key.',
        is_json(lambda v: isinstance(v["steps"], list) and isinstance(v["title"], str)),
    ),
    (
        'Suggest 3 follow-up questions, as a JSON object {"questions": ["...", "...", "..."]}. Conversation: User asked about train tickets.',
        is_json(lambda v: len(v["questions"]) == 3 and len(set(v["questions"])) == 3),
    ),
    (
        "Return JSON in a ```json code block with keys title and year for the movie Alien (1979).",
        lambda t: t.startswith("```json") and is_json({"title": "Alien", "year": 1979})(t),
    ),
    (
        'Return only the function call as JSON {"name": ..., "arguments": {...}}. Available functions: get_weather(city: str). User: weather in Oslo',
        keys("name", "arguments"),
    ),
]
PHRASINGS["enumerations in words"] = [
    (
        'Return a JSON object with two fields: "verdict" ("pass" or "fail") and "reason" (a short string).',
        is_json(lambda v: v["verdict"] in ("pass", "fail") and list(v) == ["verdict", "reason"]),
    ),
    (
        'Reply as JSON with keys "label" (one of: spam, ham) and "score" (0-1).',
        is_json(lambda v: v["label"] in ("spam", "ham") and 0 <= v["score"] <= 1),
    ),
    (
        'Output JSON: severity is either "low", "medium" or "high"; summary is a string.',
        is_json(lambda v: v["severity"] in ("low", "medium", "high") and "summary" in v),
    ),
    (
        "JSON object with `grade` (A, B, C, D or F) and `comment`.",
        is_json(lambda v: v["grade"] in list("ABCDF") and "comment" in v),
    ),
    (
        "Respond with JSON. Keys: sentiment - positive, negative or neutral; reason - string.",
        is_json(lambda v: v["sentiment"] in ("positive", "negative", "neutral") and "reason" in v),
    ),
    (
        'Return {"decision": "approve" or "reject", "why": string}',
        is_json(lambda v: v["decision"] in ("approve", "reject") and "why" in v),
    ),
    (
        'Respond with a JSON object with the keys "category", which must be one of billing, tech, sales, and "urgent", a boolean. ¦ My invoice is wrong',
        is_json(lambda v: v["category"] in ("billing", "tech", "sales") and isinstance(v["urgent"], bool)),
    ),
    (
        'JSON keys: "status" ("open" | "closed"), "id" (integer).',
        is_json(lambda v: v["status"] in ("open", "closed") and type(v["id"]) is int),
    ),
    (
        'Give JSON with field "level" (allowed values: info, warn, error) and field "message".',
        is_json(lambda v: v["level"] in ("info", "warn", "error") and "message" in v),
    ),
    (
        'Return a JSON object with a single key "binary_score" whose value is "yes" or "no".',
        is_json(lambda v: v["binary_score"] in ("yes", "no") and len(v) == 1),
    ),
    (
        'Please output JSON with "winner" set to "A", "B" or "tie" and "explanation" as text.',
        is_json(lambda v: v["winner"] in ("A", "B", "tie") and "explanation" in v),
    ),
]
PHRASINGS["N separated"] = [
    (
        "Generate 3 different versions of the given question to retrieve documents from a vector database. Provide these alternative questions separated by newlines. Original question: How do I cancel my plan?",
        is_lines(3, r"[A-Z].*\?"),
    ),
    (
        "Extract 3 keywords from the text as a comma-separated list, nothing else. Text: The harbour bridge carries trains and cyclists.",
        is_row(3, r"(?i)(the )?[\w ]*(harbour|bridge|trains?|cyclists?|carries)[\w ]*"),
    ),
    ("Write four search queries, one per line, that help answer: who built the Suez canal?", is_lines(4)),
    (
        "You are an assistant that generates multiple search queries. Generate 4 queries related to: solar panels. OUTPUT (4 queries):",
        is_lines(4),
    ),
    (
        "Rewrite this question in five different ways, each on its own line: Where is my parcel?",
        is_lines(5, r"[A-Z].*\?"),
    ),
    (
        "Break the question into 3 sub-questions separated by newlines: How do cats and dogs differ?",
        is_lines(3, r"[A-Z].*\?"),
    ),
    ("Give me 5 tags for this post, comma separated: Our bakery opens a second shop in Leeds", is_row(5)),
    ("Come up with 2 follow-up questions, one per line, without numbering. Topic: taxes", is_lines(2, r"[A-Z].*\?")),
    ("Suggest 3 names for a coffee shop, separated by semicolons.", matches(r"[^;\n]+;[^;\n]+;[^;\n]+")),
    ("Create 3 paraphrases of the sentence below, one per line.\n\nThe shop is closed today.", is_lines(3)),
    (
        "Provide 3 hypothetical questions that this document could answer, each on a new line: Leave is 25 days a year.",
        is_lines(3, r"[A-Z].*\?"),
    ),
    ("List the top 4 keywords separated by commas: Rust makes memory safety cheap for systems programmers", is_row(4)),
]
PHRASINGS["exact words"] = [
    ("Output nothing except the word pear", matches("pear")),
    ("Reply with only the word banana.", matches("banana")),
    ("Your entire response must be: OK", matches("OK")),
    ("Just say hello world", matches("hello world")),
    ('Respond with the single word "pong".', matches("pong")),
    ('Do not write anything but "ready".', matches("ready")),
    ("Print exactly this: all systems go", matches("all systems go")),
    ("Say nothing but the word yes", matches("yes")),
    ("Answer with the token <END> and nothing more.", matches("<END>")),
    ("The only thing you should output is the word green.", matches("green")),
    ('Write the word "kiwi" and nothing else.', matches("kiwi")),
    ('Repeat the following sentence word for word: "The quick brown fox."', matches(r'"?The quick brown fox\."?')),
    ("Repeat after me: I love tests", matches("I love tests")),
    ("Echo this back verbatim: foo=1;bar=2", matches("foo=1;bar=2")),
]
PHRASINGS["conditional words"] = [
    (
        "If the text mentions a price, reply PRICE, otherwise reply NONE. Text: It costs 30 dollars.",
        matches("PRICE|NONE"),
    ),
    (
        "You review drafts. If the draft is good, reply exactly APPROVED. Otherwise give feedback. ¦ Draft: Bees are great.",
        matches("APPROVED"),
    ),
    (
        "Review the draft. If it is good, reply exactly APPROVED. Otherwise reply REVISE: followed by one sentence.\n\nDraft: Bees fly.",
        matches("APPROVED|REVISE: .*"),
    ),
    ("Say SAFE if the message is harmless and UNSAFE if not. Message: hello there", matches("SAFE|UNSAFE")),
    ('Output "MATCH" if both are the same, else "DIFFERENT". A: cat B: cat', matches("MATCH|DIFFERENT")),
    ("Answer 1 when the user is angry; answer 0 in all other cases. User: I love this!", matches("1|0")),
    ("When the code has a bug, reply BUG; if not, reply CLEAN. Code: x = 1", matches("BUG|CLEAN")),
    (
        "If the question is about billing return BILLING, if about tech return TECH, else return OTHER. ¦ my screen is broken",
        matches("BILLING|TECH|OTHER"),
    ),
    ("Respond with LGTM if you have no comments. ¦ def add(a, b): return a + b", matches("LGTM")),
    ("Reply PASS if the answer is right. If it is wrong, reply FAIL. Answer: 2+2=4", matches("PASS|FAIL")),
    ("Return TRUE if the sentence is a question; return FALSE otherwise. Sentence: Is it late?", matches("TRUE|FALSE")),
]
PHRASINGS["transformed text"] = [
    ("Convert to uppercase: hello world", matches("HELLO WORLD")),
    ("Make this lowercase: HELLO World", matches("hello world")),
    ("Sort these numbers ascending and return them comma separated: 5, 3, 9, 1", matches("1, ?3, ?5, ?9")),
    (
        "Split this into sentences, one per line: I like tea. You like coffee.",
        matches(r"I like tea\.\nYou like coffee\."),
    ),
    ("Turn the following into upper case: mind the gap", matches("MIND THE GAP")),
    ("Reverse the string: abc", matches("cba")),
    ("Count the words in this sentence: one two three four", matches(".*\\b(4|four)\\b.*")),
    ('Create a URL slug for "My First Post". Only the slug.', matches("my-first-post")),
    ("Sort alphabetically, one per line: pear, apple, fig", matches("apple\nfig\npear")),
    ('Rewrite "good morning" in ALL CAPS.', matches("GOOD MORNING")),
    ("Count from 1 to 5, one number per line, then say DONE.", matches("1\n2\n3\n4\n5\n+DONE")),
]
PHRASINGS["forms"] = [
    ("What date is 3 days after 2026-11-23? Reply in YYYY-MM-DD format only.", matches(r"\d{4}-\d\d-\d\d")),
    ("When does summer start? Use the format DD/MM/YYYY, nothing else.", matches(r"\d\d/\d\d/\d{4}")),
    ('Detect the language of "Guten Tag" and reply with only the ISO 639-1 code.', matches("[a-z]{2}")),
    ("React to this news with exactly one emoji: we won!", matches(r"[^\w\s]{1,2}")),
    (
        "Classify the text as positive, negative, neutral with a confidence from 0 to 1. Respond in the format: sentiment|confidence\nText: love it",
        matches(r"(positive|negative|neutral)\|(0(\.\d+)?|1(\.0+)?)"),
    ),
    (
        "Think step by step, then give the final answer on the last line as 'Answer: <number>'. If a train travels 60 km per hour for 2 hours, how far does it go?",
        matches(r".*\nAnswer: \d+"),
    ),
    (
        "Output a CSV with header id,name,email and two rows of sample data. No code fence.",
        matches(r"id,name,email\n[^,\n]+,[^,\n]+,[^,\n]+\n[^,\n]+,[^,\n]+,[^,\n]+"),
    ),
    (
        "Make a markdown table comparing Python and Go with columns Feature, Python, Go and 3 rows.",
        matches(r"\| Feature \| Python \| Go \|\n\|[-:| ]+\|(\n\|[^\n|]+\|[^\n|]+\|[^\n|]+\|){3}"),
    ),
    (
        "Describe a server as YAML with keys host, port and tags (a list). No explanation.",
        matches(r"host: .+\nport: \d+\ntags:(\n\s*- .+)+"),
    ),
    (
        "Extract the fields into XML tags <name>, <age>. Text: Tom is 31 years old.",
        matches(r"<name>Tom</name>\s*<age>31</age>"),
    ),
    ('Reply in the format "Name: <name>, Age: <age>". Text: Ann is 44 years old.', matches(r"Name: Ann, Age: 44")),
    ("Give the time only, as HH:MM.", matches(r"\d\d:\d\d")),
    ("Return the result between ### markers: the sum of 4 and 5.", matches(r"###\s*.*9\s*###")),
    ("Start your answer with 'Sure,' and tell me about bees.", matches("Sure,.*")),
    (
        "Create a plan with numbered steps (1., 2., 3.) to launch a newsletter. Exactly 4 steps.",
        matches(r"1\. .+\n2\. .+\n3\. .+\n4\. [^\n]+"),
    ),
    ("Return an HTML unordered list of three animals, no explanation.", matches(r"<ul>\s*(<li>[^<]+</li>\s*){3}</ul>")),
    ("Output only a hex color code for the sky.", matches("#[0-9a-fA-F]{6}")),
]
PHRASINGS["number of the option"] = [
    (
        "Which of the following documents is most relevant to the query? Reply with the number only.\n\nQuery: cats\n1. Dogs bark at night.\n2. Cats sleep a lot.\n3. Birds fly south.",
        matches("2"),
    ),
    (
        "Pick the best candidate. Answer with its index only.\n[0] Ann knows Java\n[1] Bob knows Python\nJob: Python developer",
        matches("0|1"),
    ),
    (
        'Which passage answers the question "when did it open?"? Output the passage number.\n\nPassage 1: It is big.\nPassage 2: It opened in 1990.',
        matches("1|2|Passage [12]"),
    ),
    (
        'Rank these passages by relevance to "dogs": [1] cats [2] dogs [3] birds. Output only like [2] > [1] > [3].',
        matches(r"\[2\] > \[\d\] > \[\d\]"),
    ),
    (
        "Select the most fitting reply (1-3) and respond with just the digit.\n1) Sorry\n2) Thanks\n3) Bye",
        matches("[123]"),
    ),
    ("Which option is correct? Reply with the letter only.\nA) 2+2=5\nB) 2+2=4", matches("B")),
]
PHRASINGS["code"] = [
    (
        "Write a SQL query that counts orders per customer. Return only SQL, no explanation, no markdown.",
        matches(r"(?i)(with|select)(?:(?!```).)*"),
    ),
    (
        "Return a Python list of three strings with fruit names. Only the list.",
        is_literal(lambda v: len(v) == 3 and all(isinstance(x, str) for x in v)),
    ),
    (
        "Give me a Python function `slugify(text)` that lowercases and replaces spaces by dashes. Only code.",
        matches(r"(```python\n)?def slugify\(text.*"),
    ),
    (
        "Write a function called add_numbers(a, b) in Python. No markdown fences.",
        matches(r"def add_numbers\(a.*(?<!```)"),
    ),
    (
        "Respond with raw JavaScript, do not use code fences: function named toTitle",
        matches(r"(?:(?!```).)*toTitle(?:(?!```).)*"),
    ),
    (
        "Give me a python dict with keys host and port. Just the dict.",
        is_literal(lambda v: list(v) == ["host", "port"]),
    ),
    ("Write a regex that matches an email. Output only the regex, without backticks.", matches(r"\S+")),
    (
        "Write SQL without any formatting or markdown for: all users older than 30",
        matches(r"(?i)(with|select)(?:(?!```).)*"),
    ),
]
PHRASINGS["thoughts"] = [
    ("Use <think></think> tags for your reasoning, then answer. What is 2+2?", matches(r"<think>.+</think>.*4.*")),
    (
        "First reason inside <scratchpad> </scratchpad>, then write the final reply. Tell me about bees.",
        matches(r"<scratchpad>.+</scratchpad>\s*\S.+"),
    ),
    (
        "Enclose your reasoning in <think> and </think>, and your answer in <answer> and </answer>. What is 3*3?",
        matches(r"<think>.+</think>\s*<answer>.*9.*</answer>"),
    ),
    (
        "Put your thoughts between <reasoning> and </reasoning> before you respond. Hello!",
        matches(r"<reasoning>.+</reasoning>\s*\S.+"),
    ),
    (
        "Use <think></think> for thinking and <answer></answer> for the answer. How much is 10 - 4?",
        matches(r"<think>.+</think>\s*<answer>.*6.*</answer>"),
    ),
    ("Always begin with a <plan>...</plan> block. ¦ What is 5 plus 5?", matches(r"<plan>.+</plan>.*10.*")),
]
PHRASINGS["team"] = [
    ("Team: ann, ben. Reply with a name or FINISH. ¦ Write a poem", matches("ann|ben")),
    (
        "You manage these workers: coder, tester. Respond with the worker to act next, or FINISH. ¦ build it",
        matches("coder|tester"),
    ),
    ("Members: alice, bob, carol. Output only the name of who should speak next. ¦ hi all", matches("alice|bob|carol")),
    (
        "Decide who goes next among researcher, writer. Answer with one name or DONE. ¦ Research bees",
        matches("researcher|writer"),
    ),
    (
        "You are a router. Agents available:\n- billing: invoices\n- tech: bugs\nReturn only the agent name. ¦ My app crashes with a bug",
        matches("tech"),
    ),
    (
        "Next speaker? Choose from: planner / executor / critic. Name only. ¦ Plan a trip",
        matches("planner|executor|critic"),
    ),
]
PHRASINGS["courtesy"] = [
    ("Thanks, that's all for today!", matches(r"(?i).{0,80}(welcome|glad|happy|pleasure|bye|day).{0,80}")),
    ("Thank you!", matches(r"(?i).{0,80}(welcome|glad|happy|pleasure|bye|day).{0,80}")),
    ("Bye", matches(r"(?i).{0,40}(bye|care|see you|day).{0,60}")),
    ("Goodbye, see you tomorrow", matches(r"(?i).{0,40}(bye|care|see you|day).{0,60}")),
    ("Great, thanks a lot for your help", matches(r"(?i).{0,80}(welcome|glad|happy|pleasure|bye|day).{0,80}")),
    ("ok thx", matches(r"(?i).{0,80}(welcome|glad|happy|pleasure|bye|day).{0,80}")),
    ("Perfect, thank you so much.", matches(r"(?i).{0,80}(welcome|glad|happy|pleasure|bye|day).{0,80}")),
    ("Good night!", matches(r"(?i).{0,40}(night|bye|care|day).{0,60}")),
    ("You are Botty, a helpful robot. Your name is Botty. ¦ What is your name?", matches(r".*Botty.*")),
    ("You are Aria, the assistant of ACME. ¦ Who are you?", matches(r".*Aria.*")),
    ("My name is Ada. Greet me by name.", matches(r"(?i)(hello|hi|hey|welcome).{0,20}Ada.{0,60}")),
]

PHRASINGS["many others"] = [
    (
        "Read the review and produce a JSON object with the attributes rating (1-5), summary (string) and recommend (boolean). Review: great shoes",
        is_json(lambda v: 1 <= v["rating"] <= 5 and isinstance(v["summary"], str) and isinstance(v["recommend"], bool)),
    ),
    (
        'Please answer in this JSON shape: {"ok": true/false, "errors": [list of strings]}',
        is_json(lambda v: isinstance(v["ok"], bool) and isinstance(v["errors"], list)),
    ),
    (
        'Extract entities. Output: JSON list, each entry with "text" and "label" (PERSON, ORG or LOC). Text: Ann works at Google in Paris.',
        is_json(
            lambda v: len(v) >= 1 and list(v[0]) == ["text", "label"] and v[0]["label"] in ("PERSON", "ORG", "LOC")
        ),
    ),
    (
        "Return the answer as a JSON object. Required keys: answer (string), sources (array of strings).",
        is_json(lambda v: isinstance(v["answer"], str) and isinstance(v["sources"], list)),
    ),
    (
        "Give me JSON: name, age, hobbies (list). I am Eva, 30, I like chess and hiking.",
        is_json(lambda v: v["name"] == "Eva" and v["age"] == 30 and isinstance(v["hobbies"], list)),
    ),
    (
        'You classify tickets. Respond with JSON like {"category": <billing|technical|account>, "priority": <low|high>}. ¦ I cannot log in to my account',
        is_json(lambda v: v["category"] in ("billing", "technical", "account") and v["priority"] in ("low", "high")),
    ),
    (
        'Is this email phishing? Respond with "phishing" or "legitimate" and nothing else. Email: You won a prize!',
        matches("phishing|legitimate"),
    ),
    ("On a scale of 1-10, how formal is this text? Respond with just an integer. Text: hey dude", matches("[1-9]|10")),
    (
        "Does the context answer the question? Reply yes or no.\nContext: Paris is big.\nQuestion: Is Paris big?",
        matches("(?i)yes|no"),
    ),
    (
        "Pick exactly one label from {news, sports, tech} for: The match ended 2-1. Return the label only.",
        matches("news|sports|tech"),
    ),
    ('Respond with the string "ack" only.', matches("ack")),
    ("If you understand, reply with READY.", matches("READY")),
    ("Say the magic word: abracadabra", matches("(?i)abracadabra")),
    (
        "You are a judge. If the answer matches the reference, output CORRECT; otherwise output INCORRECT. ¦ Reference: 4. Answer: 4",
        matches("CORRECT|INCORRECT"),
    ),
    (
        "Evaluate the draft. Reply ACCEPT if ready to publish, else reply with a list of problems. ¦ Draft: Tea is nice.",
        matches("ACCEPT"),
    ),
    ("Give 3 alternative titles for this article, one per line: How to bake bread", is_lines(3)),
    ("Suggest five usernames separated by commas", is_row(5, r"[^,]+")),
    ("Make 2 multiple choice questions about the moon as a numbered list.", matches(r"1\. .+\n2\. .+")),
    ("Write a haiku with exactly 3 lines.", matches(r"[^\n]+\n[^\n]+\n[^\n]+")),
    ("Write a tweet under 10 words about tea.", lambda t: 1 <= len(t.split()) <= 10),
    ("Summarize in one sentence: Tea is a drink. It is hot.", lambda t: t.count(".") <= 1 and "\n" not in t),
    (
        "Return a YAML document with the keys service, replicas (integer) and image.",
        matches(r"service: .+\nreplicas: \d+\nimage: .+"),
    ),
    ("List 3 cities as CSV with columns city,country", matches(r"city,country(\n[^,\n]+,[^,\n]+){3}")),
    (
        'Answer in the form "City: X; Country: Y". Where do I live? I live in Oslo, Norway.',
        matches(r"City: .+; Country: .+"),
    ),
    ("Put your final answer in \\boxed{}. What is 6 + 7?", matches(r".*\\boxed\{13\}.*")),
    ("Respond inside <result> tags: what is 8 / 2?", matches(r"<result>.*4.*</result>")),
    (
        "Write only the Python code, no explanations: a function is_prime(n)",
        matches(r"(```python\n)?def is_prime\(n\).*"),
    ),
    ("Return the SQL query only: count users", matches(r"(?i)select.*")),
    ("Give a bash one-liner to count lines in a.txt. Command only.", matches(r"[^\n]*a\.txt[^\n]*")),
    ("Convert this to title case: hello big world", matches("Hello Big World")),
    ("Extract the email address: contact me at joe@x.io please. Return only the email.", matches(r"joe@x\.io")),
    ("What is the invoice number? Return just the number. Invoice INV-2041 of May 2", matches(r"(INV-)?2041")),
    (
        "Extract the dates from the text as a JSON array: We met on 2024-01-02 and 2024-03-04.",
        is_json(["2024-01-02", "2024-03-04"]),
    ),
    ("Thanks so much, this is great!", matches(r"(?i).{0,80}(welcome|glad|happy|pleasure).{0,80}")),
    ("ok bye", matches(r"(?i).{0,60}(bye|care|see you).{0,60}")),
    ('Your name is Zed. You always sign with "-Z". ¦ Introduce yourself', matches(r".*Zed.*")),
    (
        "The workers are: editor, writer. Who acts next? Answer with the worker name only, or FINISH if done. ¦ Draft a blog post",
        matches("editor|writer"),
    ),
    ("Rate the following from A to F. Only output the letter. Essay: dogs", matches("[A-F]")),
    (
        "Rewrite the query to be a standalone question. Return only the question. History: Tell me about Oslo. Query: how many people live there?",
        matches(r"[^\n]+\?"),
    ),
    ("Create a title for this chat in 3-5 words, no quotes: user asks about taxes", lambda t: 3 <= len(t.split()) <= 5),
    ("Answer with a single word: what colour is grass?", matches(r"\w+\W?")),
    ("Generate a random 4 digit number. Only the number.", matches(r"\d{4}")),
    (
        "Reply in JSON with a boolean field named is_question. ¦ Where is the station?",
        is_json(lambda v: isinstance(v["is_question"], bool) and len(v) == 1),
    ),
    ("Write the word hello three times separated by spaces.", matches("hello hello hello")),
]


PHRASINGS["array of objects"] += [
    (
        'Answer with a JSON array. Each object should have "term" and "definition". Give 3.',
        rows(3, "term", "definition"),
    ),
    (
        "Please provide a list of JSON objects (fields: step, detail) describing how to make tea.",
        is_json(lambda v: 1 <= len(v) < 9 and list(v[0]) == ["step", "detail"]),
    ),
    (
        "Convert to a JSON array of objects with keys city and temp: Oslo 4, Rome 18",
        is_json([{"city": "Oslo", "temp": 4}, {"city": "Rome", "temp": 18}]),
    ),
    (
        'Return the two invoices as JSON array of objects with "number" (string) and "paid" (boolean).',
        is_json(lambda v: len(v) == 2 and all(isinstance(r["paid"], bool) and isinstance(r["number"], str) for r in v)),
    ),
]
PHRASINGS["fields in words"] += [
    (
        "Return JSON, with the fields product (string), quantity (integer) and gift (boolean). ¦ Please send 4 mugs as a gift",
        is_json(lambda v: v["quantity"] == 4 and isinstance(v["gift"], bool) and isinstance(v["product"], str)),
    ),
    ('Format your reply as a JSON object that has a "reply" key and a "mood" key.', keys("reply", "mood")),
    (
        "Fill in JSON: first_name, last_name, age (number). Text: Jane Doe, 52",
        is_json(lambda v: v["age"] == 52 and list(v) == ["first_name", "last_name", "age"]),
    ),
    (
        "Respond only with JSON. It must include: id (integer), labels (array of strings), done (true/false).",
        is_json(lambda v: type(v["id"]) is int and isinstance(v["labels"], list) and isinstance(v["done"], bool)),
    ),
    (
        "The answer must be a JSON object whose fields are: email - the address, urgent - boolean. ¦ call kim@y.com now",
        is_json(lambda v: v["email"] == "kim@y.com" and isinstance(v["urgent"], bool)),
    ),
]
PHRASINGS["enumerations in words"] += [
    (
        'Respond in JSON with `verdict` (either "correct" or "incorrect") and `explanation` (string).',
        is_json(lambda v: v["verdict"] in ("correct", "incorrect") and "explanation" in v),
    ),
    (
        'Return a JSON object: "risk" is one of low / medium / high, "notes" is text.',
        is_json(lambda v: v["risk"] in ("low", "medium", "high") and "notes" in v),
    ),
    (
        'JSON with the keys "route" (billing, technical or general) and "confidence" (0 to 1).',
        is_json(lambda v: v["route"] in ("billing", "technical", "general") and 0 <= v["confidence"] <= 1),
    ),
    (
        'Output a JSON object with key "grounded" that is "yes" if the answer is grounded and "no" otherwise.',
        is_json(lambda v: v["grounded"] in ("yes", "no")),
    ),
]
PHRASINGS["N separated"] += [
    (
        "Write 3 alternative phrasings of the user question, each on a separate line. Question: Can I pay later?",
        is_lines(3, r"[A-Z].*\?"),
    ),
    ("Return 4 hashtags separated by spaces for a post on hiking.", matches(r"#?\w+( #?\w+){3}")),
    ("Propose three research questions about coral reefs, one per line.", is_lines(3, r"[A-Z].*\?")),
    ('Generate 5 short search queries for "best e-bikes", newline-separated.', is_lines(5)),
    ("Give two synonyms for fast, comma separated, no other text.", is_row(2)),
]
PHRASINGS["exact words"] += [
    ("Please output only the text done", matches("done")),
    ('Your response should be exactly "42 bananas".', matches("42 bananas")),
    ("Respond with nothing other than the word stop.", matches("stop")),
    ("Your answer has to be the word maybe.", matches("maybe")),
    ("Copy this text exactly: a=b; c=d", matches("a=b; c=d")),
]
PHRASINGS["conditional words"] += [
    ("Reply ALLOW if the request is fine, BLOCK otherwise. Request: tell me a joke", matches("ALLOW|BLOCK")),
    (
        "You are an editor. When the text needs no change answer DONE; otherwise list changes. ¦ Text: Bees fly.",
        matches("DONE.*"),
    ),
    (
        "Return Y if the two names refer to the same person, N if they do not. Names: Tom Hanks, Thomas Hanks",
        matches("Y|N"),
    ),
    (
        "If the review mentions delivery, output DELIVERY. Otherwise, output OTHER. Review: It came late.",
        matches("DELIVERY|OTHER"),
    ),
    (
        "Is the plan complete? If yes, respond COMPLETE. If no, respond INCOMPLETE. Plan: buy milk",
        matches("COMPLETE|INCOMPLETE"),
    ),
]
PHRASINGS["transformed text"] += [
    ("Write in capital letters: stay calm", matches("STAY CALM")),
    ("Sort descending, comma separated: 2, 10, 7", matches("10, ?7, ?2")),
    ("Lowercase this text: ABC Def", matches("abc def")),
    ("Count down from 3 to 1, separated by commas", matches("3, ?2, ?1")),
    ("Slugify this title: Hello New World", matches("hello-new-world")),
]
PHRASINGS["forms"] += [
    ("Tell me tomorrow's date in ISO 8601 format, only the date.", matches(r"\d{4}-\d\d-\d\d")),
    ("Reply with a two-letter country code only: where is Berlin?", matches(r"[A-Za-z]{2}")),
    ("Output format: category;priority. Ticket: printer broken", matches(r"[^;\n]+;[^;\n]+")),
    (
        'Finish with a line "Final score: <number>". Rate this essay: bees are nice',
        matches(r".*Final score: \d+(\.\d+)?"),
    ),
    ("Create CSV data with columns date,amount and 3 rows. CSV only.", matches(r"date,amount(\n[^,\n]+,[^,\n]+){3}")),
    (
        "Give me a table in markdown with 2 rows and the columns Name and Role.",
        matches(r".*\| ?Name ?\| ?Role ?\|\n\|[-:| ]+\|(\n\|[^\n|]+\|[^\n|]+\|){2}"),
    ),
    ("Reply in YAML with name and port only.", matches(r"name: .+\nport: .+")),
    ("Wrap the city in <city> tags. I live in Oslo.", matches(r"(?s).*<city>Oslo</city>.*")),
    ("Respond with one emoji only. How do you feel?", matches(r"[^\w\s]{1,2}")),
    ('Begin with "Dear Ann," and write a short note.', matches("Dear Ann,.*")),
]
PHRASINGS["number of the option"] += [
    (
        "Choose the best title and return its number.\n1. Cats at sea\n2. Dogs at home\nArticle: Dogs like to stay home.",
        matches("[12]"),
    ),
    (
        "Give only the ID of the document that fits best.\nDoc 1: tax law\nDoc 2: football\nQuestion: how are taxes paid?",
        matches("1|Doc 1"),
    ),
    ("Which of these is a fruit? Just the letter.\nA. chair\nB. apple\nC. stone", matches("[ABC]")),
]
PHRASINGS["code"] += [
    (
        "Generate a PostgreSQL query for all orders of 2024. SQL only, no backticks.",
        matches(r"(?i)(with|select)(?:(?!```).)*"),
    ),
    ("Implement is_even(n) in Python. Output raw code without fences.", matches(r"def is_even\(n.*(?<!```)")),
    ("Output a JavaScript array of two colors, nothing else.", is_literal(lambda v: len(v) == 2)),
    ("Write a Python class named Parser. Code only.", matches(r".*class Parser.*")),
]
PHRASINGS["thoughts"] += [
    ("Think inside <thought></thought> first. Then reply. How much is 6*7?", matches(r"<thought>.+</thought>.*42.*")),
    (
        "Before answering, write your analysis in <analysis> tags. What is 1+1?",
        matches(r"<analysis>.+</analysis>.*2.*"),
    ),
    (
        "Use <reasoning></reasoning> and then <output></output>. Add 4 and 4.",
        matches(r"<reasoning>.+</reasoning>\s*<output>.*8.*</output>"),
    ),
]
PHRASINGS["team"] += [
    (
        "Available workers: scout, builder. Given the conversation, reply with only the worker who should act next or FINISH. ¦ Build a house",
        matches("scout|builder"),
    ),
    ("Your team is: mia, leo. Pick one. Only the name. ¦ hello", matches("mia|leo")),
    (
        "Route the message to one of these departments: hr, it, legal. Reply with the department only. ¦ my laptop needs it support",
        matches("it|hr|legal"),
    ),
]
PHRASINGS["courtesy"] += [
    ("Cheers, that helped!", matches(r"(?i).{0,80}(welcome|glad|happy|pleasure|bye|day).{0,80}")),
    ("That's it, thanks. Bye!", matches(r"(?i).{0,80}(welcome|glad|happy|pleasure|bye|day|care).{0,80}")),
    ("See you later!", matches(r"(?i).{0,40}(bye|care|see you|day).{0,60}")),
    ("Your name is Max. ¦ Who am I talking to?", matches(r".*Max.*")),
]

PHRASINGS["many others"] += [
    (
        "Analyse the sentiment and give me back JSON holding the keys sentiment (positive/negative/neutral) and score (float between -1 and 1). I hate rain.",
        is_json(lambda v: v["sentiment"] in ("positive", "negative", "neutral") and -1 <= v["score"] <= 1),
    ),
    (
        'Output must be a JSON object with "steps": an array of strings, and "done": a boolean.',
        is_json(lambda v: isinstance(v["steps"], list) and isinstance(v["done"], bool)),
    ),
    (
        "Create 3 user records as JSON (id, username, is_admin).",
        is_json(lambda v: len(v) == 3 and list(v[0]) == ["id", "username", "is_admin"]),
    ),
    (
        "Return a list of objects in JSON with name and population for the 2 biggest cities.",
        rows(2, "name", "population"),
    ),
    (
        'Your task: decide whether to "continue" or "stop". Respond with one of these words. ¦ all tests pass',
        matches("continue|stop"),
    ),
    ("Grade the essay: reply with just PASS or FAIL. Essay: dogs", matches("PASS|FAIL")),
    (
        "If the user asks about refunds, answer with REFUND; for anything else answer with OTHER. ¦ Where is my refund?",
        matches("REFUND"),
    ),
    ('Only respond with the word "understood".', matches("understood")),
    ("Output the following text unchanged: abc 123", matches("abc 123")),
    ("Generate five search queries to find papers on sleep. One per line. No numbering.", is_lines(5)),
    ("Give me three keywords for this text separated by commas: Wind turbines produce clean power", is_row(3)),
    ("Make a comma separated list of 4 colors", is_row(4, r"[^,]+")),
    (
        "Write a table in markdown with the columns Day and Task, 3 rows.",
        matches(r"\| ?Day ?\| ?Task ?\|\n\|[-:| ]+\|(\n\|[^\n|]+\|[^\n|]+\|){3}"),
    ),
    (
        "Reply in this exact format:\nSCORE: <number>\nREASON: <text>\nEssay: bees",
        matches(r"SCORE: \d+(\.\d+)?\nREASON: .+"),
    ),
    ("Answer with the year only: when was the Alien movie (1979) released?", matches("1979")),
    ("Which city is mentioned? Return just the city name. Text: We flew to Lisbon.", matches("Lisbon")),
    ("Uppercase this: abc", matches("ABC")),
    ("Think in <thinking> tags, then answer. 5*5?", matches(r"<thinking>.+</thinking>\s*.*25.*")),
    ("Write a javascript function named debounce, code only", matches(r"(?s)(```javascript\n|.*)function debounce.*")),
    ("No markdown, just the SQL: all products cheaper than 5", matches(r"(?i)select.*")),
    ("Thank you for your help today.", matches(r"(?i).{0,80}(welcome|glad|happy|pleasure).{0,80}")),
    ("You are Nova. ¦ What are you called?", matches(".*Nova.*")),
    (
        "Who should handle this next: frontend, backend or qa? Reply with the name. ¦ The API is slow",
        matches("frontend|backend|qa"),
    ),
    ("Reply with a number between 1 and 5.", matches("[1-5]")),
]

PHRASINGS["many others"] += [
    (
        'Please give your answer as JSON, with one property "city" and one property "zip". I am in 10115 Berlin.',
        keys("city", "zip"),
    ),
    (
        'From the message, fill this JSON: {"name": "", "phone": "", "wants_call": false}. Message: Kim here, call me at +1-555-0100',
        is_json(lambda v: list(v) == ["name", "phone", "wants_call"] and v["phone"] == "+1-555-0100"),
    ),
    (
        "Output JSON only. Schema: name: string, price: number, in_stock: boolean. Desk for 99.5",
        is_json(lambda v: v["price"] == 99.5 and isinstance(v["in_stock"], bool)),
    ),
    ('I want a JSON array. Items have a "q" and an "a". Make 2.', rows(2, "q", "a")),
    (
        'Score the answer. JSON: {"score": 1-5, "feedback": "one sentence"}',
        is_json(lambda v: 1 <= v["score"] <= 5 and isinstance(v["feedback"], str)),
    ),
    (
        "Label the text with exactly one of these classes: joy, anger, fear. Text: I am so happy. Only the class.",
        matches("joy|anger|fear"),
    ),
    ("True or false: 3 > 2. One word.", matches("(?i)true")),
    ("Is the sky green? Answer with Y or N only.", matches("[YN]")),
    ('When you are done reading, answer simply "Done."', matches(r"Done\.?")),
    ('Say "Hi Bob" and stop.', matches("Hi Bob")),
    ("Check the code. If there is nothing to fix, output NO_ISSUES. ¦ print(1)", matches("NO_ISSUES")),
    (
        "Respond with CONTINUE unless the user says goodbye, in which case respond with STOP. ¦ tell me more",
        matches("CONTINUE|STOP"),
    ),
    ("Produce 3 bullet points on tea.", matches(r"- .+\n- .+\n- .+")),
    ("Write 2 short paragraphs about tea.", lambda t: t.strip().count("\n\n") == 1),
    ("Paraphrase this sentence in 3 ways, numbered 1 to 3: The cat sleeps.", matches(r"1\. .+\n2\. .+\n3\. .+")),
    (
        "Generate 3 sub-queries as a JSON list of strings for: history of tea",
        is_json(lambda v: len(v) == 3 and len(set(v)) == 3),
    ),
    (
        "Show this as an XML document with elements name and age: Tom, 31",
        matches(r".*<name>Tom</name>.*<age>31</age>.*"),
    ),
    ("Round 3.14159 to 2 decimals. Number only.", matches(r"\d+(\.\d+)?")),
    ("What is 15% of 80? Just the number.", matches("12")),
    ("Pick a random number from 1 to 6. Only digits.", matches("[1-6]")),
    ("Fix the grammar and return only the corrected sentence: he go home", matches(r"[^\n]{3,80}")),
    ("Write TypeScript code only: a function sum(a, b)", matches(r"(?s)(```\w+\n)?.*function sum.*")),
    ("Cheers!", matches(r"(?i).{0,80}(welcome|glad|happy|pleasure).{0,80}")),
]


@pytest.mark.parametrize(("prompt", "check"), [case for cases in PHRASINGS.values() for case in cases])
def test_an_order_in_many_words(prompt: str, check: Check) -> None:
    for seed in ("0", "5"):
        assert check(answered(prompt, seed)), answered(prompt, seed)
