"""Unlike phrasings of what prompts order, each with what its answer must look like: no phrasing is special."""

# ruff: noqa: E501  (a prompt is one line)

import pytest

from tests.kit.phrasings import (
    Check,
    Phrasings,
    check_order,
    is_json,
    is_lines,
    is_row,
    keys,
    matches,
    orders,
    rows,
)

PHRASINGS: Phrasings = {}
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
        "JSON object with `grade` (A, B, C, D or F) and `comment`.",
        is_json(lambda v: v["grade"] in list("ABCDF") and "comment" in v),
    ),
    (
        'Return {"decision": "approve" or "reject", "why": string}',
        is_json(lambda v: v["decision"] in ("approve", "reject") and "why" in v),
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
    ("Create 3 paraphrases of the sentence below, one per line.\n\nThe shop is closed today.", is_lines(3)),
    (
        "Provide 3 hypothetical questions that this document could answer, each on a new line: Leave is 25 days a year.",
        is_lines(3, r"[A-Z].*\?"),
    ),
    ("List the top 4 keywords separated by commas: Rust makes memory safety cheap for systems programmers", is_row(4)),
]
PHRASINGS["exact words"] = [
    ("Output nothing except the word pear", matches("pear")),
    ("Your entire response must be: OK", matches("OK")),
    ('Do not write anything but "ready".', matches("ready")),
    ("Say nothing but the word yes", matches("yes")),
    ("Answer with the token <END> and nothing more.", matches("<END>")),
    ("The only thing you should output is the word green.", matches("green")),
    ("Reply with OK and nothing else.", matches("OK")),
    ("Respond with CONTINUE unless you are stuck.", matches("CONTINUE")),
    ("Please respond with just OK to confirm.", matches("OK")),
    ("Your answer must be: short. How are tides made?", matches(".{20,}")),
    ("Reply with only the word banana.", matches("banana")),
    ("Just say hello world", matches("hello world")),
    ('Respond with the single word "pong".', matches("pong")),
    ("Print exactly this: all systems go", matches("all systems go")),
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
    (
        "IF you see 1-2 ways to improve it, name them. ELSE respond exactly with the phrase 'No major issues.'\n\nBees fly.",
        matches("No major issues."),
    ),
    (
        "Answer the following multiple choice question. The last line of your response should be of the following format: "
        "'Answer: $LETTER' (without quotes) where LETTER is one of ABCD.\n\nWhat colour is the sky?\n\nA) red\nB) blue",
        matches("Answer: [AB]"),
    ),
    (
        "Extract the resume.\n\nMia Berg, mia@x.com. Sales Manager at ABC Corp.\n\nOutput the YAML in this format:\n"
        "```yaml\nname: John Doe\nemail: john@doe.com\nexperience:\n  - title: Manager\n    company: XYZ\n```",
        matches(
            '```yaml\nname: "Mia Berg"\nemail: "mia@x.com"\n'
            'experience: \\[{"title":"Sales Manager","company":"ABC Corp"}]\n```'
        ),
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
PHRASINGS["forms"] = [
    (
        "Classify the text as positive, negative, neutral with a confidence from 0 to 1. Respond in the format: sentiment|confidence\nText: love it",
        matches(r"(positive|negative|neutral)\|(0(\.\d+)?|1(\.0+)?)"),
    ),
    (
        "Think step by step, then give the final answer on the last line as 'Answer: <number>'. If a train travels 60 km per hour for 2 hours, how far does it go?",
        matches(r".*\nAnswer: \d+"),
    ),
    (
        "Extract the fields into XML tags <name>, <age>. Text: Tom is 31 years old.",
        matches(r"<name>Tom</name>\s*<age>31</age>"),
    ),
    ('Reply in the format "Name: <name>, Age: <age>". Text: Ann is 44 years old.', matches(r"Name: Ann, Age: 44")),
    ("Give the time only, as HH:MM.", matches(r"\d\d:\d\d")),
    (
        "Create a plan with numbered steps (1., 2., 3.) to launch a newsletter. Exactly 4 steps.",
        matches(r"1\. .+\n2\. .+\n3\. .+\n4\. [^\n]+"),
    ),
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
]


@pytest.mark.parametrize(("prompt", "check"), orders(PHRASINGS))
def test_an_order_in_many_words(prompt: str, check: Check) -> None:
    check_order(prompt, check)
