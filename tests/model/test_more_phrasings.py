"""Other phrasings of the same orders, and of many more."""

# ruff: noqa: E501  (a prompt is one line)

import pytest

from mockserver.core.call import Message
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.model.auto import answer_as_model
from tests.kit.calls import call
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
    ("Write a tweet under 10 words about tea.", lambda t: 1 <= len(t.split()) <= 10),
    ("Summarize in one sentence: Tea is a drink. It is hot.", lambda t: t.count(".") <= 1 and "\n" not in t),
    (
        'Answer in the form "City: X; Country: Y". Where do I live? I live in Oslo, Norway.',
        matches(r"City: .+; Country: .+"),
    ),
    ("Respond inside <result> tags: what is 8 / 2?", matches(r"<result>.*4.*</result>")),
    (
        "Write only the Python code, no explanations: a function is_prime(n)",
        matches(r"(```python\n)?def is_prime\(n\).*"),
    ),
    ("Return the SQL query only: count users", matches(r"(?i)select.*")),
    ("Give a bash one-liner to count lines in a.txt. Command only.", matches(r"[^\n]*a\.txt[^\n]*")),
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
    (
        "Rewrite the query to be a standalone question. Return only the question. History: Tell me about Oslo. Query: how many people live there?",
        matches(r"[^\n]+\?"),
    ),
    ("Create a title for this chat in 3-5 words, no quotes: user asks about taxes", lambda t: 3 <= len(t.split()) <= 5),
    ("Answer with a single word: what colour is grass?", matches(r"\w+\W?")),
    (
        "Reply in JSON with a boolean field named is_question. ¦ Where is the station?",
        is_json(lambda v: isinstance(v["is_question"], bool) and len(v) == 1),
    ),
]


ROUTE = (
    "You are an expert at routing a user question to a vectorstore or web search. Use the vectorstore for questions on"
    " LLM agents, prompt engineering, and adversarial attacks. You do not need to be stringent with the keywords in the"
    " question related to these topics. Otherwise, use web-search. Give a binary choice 'web_search' or 'vectorstore'"
    " based on the question. Return the a JSON with a single key 'datasource' and no premable or explanation."
)
PHRASINGS["an option under a single key"] = [
    (f"{ROUTE} Question to route: What is agent memory?", is_json({"datasource": "vectorstore"})),
    (f"{ROUTE} Question to route: Who won the Super Bowl?", is_json({"datasource": "web_search"})),
    (f"{ROUTE} ¦ What is prompt engineering?", is_json({"datasource": "vectorstore"})),
    (f"{ROUTE} ¦ Who won the Super Bowl?", is_json({"datasource": "web_search"})),
    (
        "Given a user question, classify it as `vectorstore` or `websearch`. Use the vectorstore for questions on agents and prompt engineering, else websearch. Return JSON with a single key datasource. Question: Who won the Super Bowl?",
        is_json({"datasource": "websearch"}),
    ),
    (
        "Classify the question as `docs` or `web`. Return JSON with a single key datasource. Question: Who won?",
        is_json(lambda v: v["datasource"] in ("docs", "web")),
    ),
    (
        "Here is the retrieved document: \n\n agents have memory \n\n Here is the user question: agent memory \n If the document contains keywords related to the user question, grade it as relevant. Give a binary score 'yes' or 'no' score to indicate whether the document is relevant to the question. Provide the binary score as a JSON with a single key 'score' and no premable or explanation.",
        is_json(lambda v: v["score"] in ("yes", "no")),
    ),
    ("Grade the essay (A, B, C, D, F). Essay: Bananas. Respond with only the letter grade.", matches("[ABCDF]")),
    (
        "You are grading an answer. <question>What is 2+2?</question> <answer>5</answer> <rubric>The answer is 4</rubric> Output correct or incorrect in <result> tags.",
        matches("<result>(in)?correct</result>"),
    ),
]

PHRASINGS["sums"] = [
    ("Sum the numbers 5, 7 and 9. Only output the number.", matches("21")),
    ("Calculate the total of 19.99, 5.01 and 10. Reply with only the total.", matches("35")),
    ("What is the sum of 1.5 and 2.25?", matches(r"3\.75")),
    ("the total of $5 and $7.50", matches(r"12\.5")),
    ("Add up these numbers: 1, 2, and -3.", matches("0")),
    ("Please add 1,000 and 25.", matches("1025")),
    ("Add 5 to 10", matches("15")),
    ("Subtract 8 from 20", matches("12")),
    ("What is the difference between 4 and 10?", matches("6")),
    ("Multiply 6 by 7", matches("42")),
    ("What is the product of 3, 4 and 5?", matches("60")),
    ("Divide 10 by 4.", matches(r"2\.5")),
    ("seven plus five", matches("12")),
    ("What is twelve divided by 3?", matches("4")),
    ("Add 2 and 3 to the cart", matches(r"[A-Z].* .*[.?]")),
    ("Add 3 and 4. Then multiply the result by 2.", matches(r"[A-Z].* .*[.?]")),
    ("twenty-one plus five", matches(r"[A-Z].* .*[.?]")),
    ("Is it true that the sum of 5 and 7 is 13?", matches(r"[A-Z].* .*[.?]")),
    ("I had 2 apples and ate some of 4. How many are left? Only output the number.", matches("[24]")),
]

PHRASINGS["array of objects"] = [
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
PHRASINGS["fields in words"] = [
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
PHRASINGS["enumerations in words"] = [
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
]
PHRASINGS["N separated"] = [
    (
        "Write 3 alternative phrasings of the user question, each on a separate line. Question: Can I pay later?",
        is_lines(3, r"[A-Z].*\?"),
    ),
    ("Propose three research questions about coral reefs, one per line.", is_lines(3, r"[A-Z].*\?")),
    ('Generate 5 short search queries for "best e-bikes", newline-separated.', is_lines(5)),
    ("Give two synonyms for fast, comma separated, no other text.", is_row(2)),
]
PHRASINGS["exact words"] = [
    ("Please output only the text done", matches("done")),
    ("Copy this text exactly: a=b; c=d", matches("a=b; c=d")),
]
PHRASINGS["conditional words"] = [
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
PHRASINGS["forms"] = [
    ("Tell me tomorrow's date in ISO 8601 format, only the date.", matches(r"\d{4}-\d\d-\d\d")),
    ("Reply with a two-letter country code only: where is Berlin?", matches(r"[A-Za-z]{2}")),
    ("Output format: category;priority. Ticket: printer broken", matches(r"[^;\n]+;[^;\n]+")),
    (
        'Finish with a line "Final score: <number>". Rate this essay: bees are nice',
        matches(r".*Final score: \d+(\.\d+)?"),
    ),
    ("Wrap the city in <city> tags. I live in Oslo.", matches(r"(?s).*<city>Oslo</city>.*")),
    ("Respond with one emoji only. How do you feel?", matches(r"[^\w\s]{1,2}")),
]
PHRASINGS["number of the option"] = [
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
PHRASINGS["code"] = [
    (
        "Generate a PostgreSQL query for all orders of 2024. SQL only, no backticks.",
        matches(r"(?i)(with|select)(?:(?!```).)*"),
    ),
    ("Implement is_even(n) in Python. Output raw code without fences.", matches(r"def is_even\(n.*(?<!```)")),
]
PHRASINGS["thoughts"] = [
    ("Think inside <thought></thought> first. Then reply. How much is 6*7?", matches(r"<thought>.+</thought>.*42.*")),
    (
        "Before answering, write your analysis in <analysis> tags. What is 1+1?",
        matches(r"<analysis>.+</analysis>.*2.*"),
    ),
]
PHRASINGS["team"] = [
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
PHRASINGS["courtesy"] = [
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
        "Reply in this exact format:\nSCORE: <number>\nREASON: <text>\nEssay: bees",
        matches(r"SCORE: \d+(\.\d+)?\nREASON: .+"),
    ),
    ("Answer with the year only: when was the Alien movie (1979) released?", matches("1979")),
    ("Which city is mentioned? Return just the city name. Text: We flew to Lisbon.", matches("Lisbon")),
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
    ("Is the sky green? Answer with Y or N only.", matches("[YN]")),
    ('When you are done reading, answer simply "Done."', matches(r"Done\.?")),
    ('Say "Hi Bob" and stop.', matches("Hi Bob")),
    ("Check the code. If there is nothing to fix, output NO_ISSUES. ¦ print(1)", matches("NO_ISSUES")),
    ("Produce 3 bullet points on tea.", matches(r"- .+\n- .+\n- .+")),
    ("Paraphrase this sentence in 3 ways, numbered 1 to 3: The cat sleeps.", matches(r"1\. .+\n2\. .+\n3\. .+")),
    (
        "Generate 3 sub-queries as a JSON list of strings for: history of tea",
        is_json(lambda v: len(v) == 3 and len(set(v)) == 3),
    ),
    ("Round 3.14159 to 2 decimals. Number only.", matches(r"\d+(\.\d+)?")),
    ("What is 15% of 80? Just the number.", matches("12")),
    ("What is new in GPT-5 / 2026?", matches("(?s)[^=]+")),
    ("Pick a random number from 1 to 6. Only digits.", matches("[1-6]")),
    ("Write TypeScript code only: a function sum(a, b)", matches(r"(?s)(```\w+\n)?.*function sum.*")),
    ("Cheers!", matches(r"(?i).{0,80}(welcome|glad|happy|pleasure).{0,80}")),
]


# What programs send, in the words of their prompts.
PHRASINGS["judges and rankers"] = [
    (
        'Act as an impartial judge. Rate the response on a scale of 1 to 10 by strictly following this format: "[[rating]]", for example: "Rating: [[5]]".\n\n[Question]\nWhat is tea?',
        matches(r"(Rating: )?\[\[([1-9]|10)\]\]"),
    ),
    (
        "Solve the following math problem step by step. The last line of your response should be of the form Answer: $ANSWER (without quotes) where $ANSWER is the answer to the problem.\n\nWhat is 12 * 12?",
        matches("Answer: 144"),
    ),
    (
        "Each document has a number and a summary. Respond with the numbers of the documents to consult, with a relevance score from 1-10.\nQuestion: <question>\nAnswer:\nDoc: 9, Relevance: 7\nDoc: 3, Relevance: 4\n\nLet's try this now:\n\nDocument 1:\nDogs bark at night.\n\nDocument 2:\nCats sleep a lot.\nQuestion: What do cats do?\nAnswer:",
        matches(r"Doc: 2, Relevance: \d"),
    ),
    (
        "Given the user question below, classify it as either being about `LangChain`, `Anthropic`, or `Other`.\n\nDo not respond with more than one word.\n\n<question>\nhow do I call Anthropic?\n</question>\n\nClassification:",
        matches("Anthropic"),
    ),
    (
        "Given an input question, first create a syntactically correct SQLite query to run. Only use these tables:\nCREATE TABLE albums (id INTEGER, title TEXT)\nCREATE TABLE artists (id INTEGER, name TEXT)\n\nQuestion: How many artists are there?\nSQLQuery: ",
        matches(r"SELECT COUNT\(\*\) FROM artists .*"),
    ),
    (
        "Rate the summary on one metric.\n\nEvaluation Criteria:\n\nCoherence (1-5) - the quality of all sentences.\n\nSummary:\n\nTea.\n\nEvaluation Form (scores ONLY):\n\n- Coherence:",
        matches("[1-5]"),
    ),
    (
        '###Task Description:\nAfter writing a feedback, write a score that is an integer between 1 and 5. The output format should look as follows: "Feedback: (write a feedback for criteria) [RESULT] (an integer number between 1 and 5)"\n\n###The instruction to evaluate:\nSay hi\n\n###Response to evaluate:\nhi\n\n###Feedback:',
        matches(r"\[RESULT\] [1-5]"),
    ),
    (
        "Some choices are given below. It is provided in a numbered list (1 to 2).\n---------------------\n(1) Useful for summarization questions\n\n(2) Useful for retrieving specific facts\n---------------------\nUsing only the choices above, return the choice that is most relevant to the question: 'summarize the document'",
        matches("1"),
    ),
    (
        "The original query is as follows: When did it open?\nWe have provided an existing answer: In 1990.\nRefine it with some more context below.\n------------\nIt opened in 1991.\n------------\nRefined Answer: ",
        matches(r"It opened in 1991\."),
    ),
    (
        "Some text is provided below. Given the text, extract up to 3 keywords from the text.---------------------\nThe harbour bridge carries trains.\n---------------------\nProvide keywords in the following comma-separated format: 'KEYWORDS: <keywords>'",
        matches("KEYWORDS: harbour, bridge, carries"),
    ),
    (
        "Context information is below.\n\n---------------------\nTea is a hot drink.\n---------------------\n\nYour task is to setup 2 questions for an upcoming quiz.",
        is_lines(2, r"\d\. .*\?"),
    ),
    (
        "Devise a plan. Please output the plan starting with the header 'Plan:' and then followed by a numbered list of steps. At the end of your plan, say '<END_OF_PLAN>' ¦ Who is the oldest?",
        matches(r"1\. .*\n2\. .*<END_OF_PLAN>"),
    ),
    (
        "Extract all of the proper nouns from the last line of conversation. Return the output as a single comma-separated list, or NONE if there is nothing of note to return.\n\nLast line of conversation:\nHuman: I met Ann in Oslo\n\nOutput:",
        matches("Ann, Oslo"),
    ),
    (
        "Look at the input and reason about its meaning.\nHere is the initial question:\n ------- \nHow hot is tea?\n ------- \nFormulate an improved question:",
        matches(r"How hot is tea\?"),
    ),
    (
        "Generate a concise, 3-5 word title for this conversation, without quotes: user: how do I bake bread?",
        matches("Bake Bread"),
    ),
    (
        "You will generate a short title based on the first message a user begins a conversation with. Do not use quotes. ¦ How do I bake bread?",
        matches("Bake Bread"),
    ),
    ("First line must read 'safe' or 'unsafe'. ¦ how do I bake bread?", matches("safe|unsafe")),
    ("You know the rules of chess. If you understand, reply with just: 'Ready.'", matches(r"Ready\.")),
    (
        "You write one-line commit messages for diffs. Reply only with the one-line commit message, without any explanations. ¦ +print('hi')\n-print('ho')",
        matches("(?!hi$).{3,}"),
    ),
    (
        'Write a concise summary of the following:\n\n\n"Ada lived in London. She wrote programs. She died young."\n\n\n'
        "CONCISE SUMMARY:",
        matches(r"Ada lived in London\. She wrote programs\."),
    ),
    ("Summarize what you know about France.", lambda t: "France" in t and t != "what you know about France."),
    ("Use tools to find pages. Summarize your findings. ¦ I live in Rome.", lambda t: t != "I live in Rome."),
    ("Summarize what the user sends. ¦ Tea is a drink. It is hot.", matches(r"Tea is a drink\. It is hot\.")),
    (
        "Tea is a drink. It is hot.\n\nPlease summarize the text above as 2 bullet points.",
        matches(r"- Tea is a drink\.\n- It is hot\."),
    ),
    (  # LangChain's router
        "Select the prompt best suited for the input.\n\n<< FORMATTING >>\nReturn a JSON object formatted to look like:\n{\n"
        '    "destination": string \\ name of the prompt to use or "DEFAULT"\n    "next_inputs": string \\ the input\n}\n\n'
        "<< CANDIDATE PROMPTS >>\nphysics: Good for questions about light and matter\nmath: Good for sums\n\n<< INPUT >>\n"
        "What are sums of primes?\n\n<< OUTPUT >>\n",
        is_json({"destination": "math", "next_inputs": "What are sums of primes"}),
    ),
    (  # LightRAG's
        "Extract the keywords of the query.\n\n---Instructions---\nThe JSON must contain exactly these two keys:\n"
        '   - `"themes_keywords"`: an array of strings\n   - `"low_level_keywords"`: an array of strings\n\n---Real Data---\n'
        "User Query: Who worked with Babbage?\n\n---Output---\nOutput:\n",
        is_json(lambda v: v["low_level_keywords"] == ["worked", "Babbage"]),
    ),
    (
        'Assign the task. Respond with JSON: {"task": "..."}\nThe content of the task is:\n\n==========\nPlan a trip to Rome\n'
        "==========\n\nThere are workers:\n\n==========\nAnn: <Finds sights>\n==========\n",
        is_json({"task": "trip to Rome"}),
    ),
]

PHRASINGS["orders before what they are about"] = [
    ("Reply with the word banana.\n\nInput:\nignore me", matches("banana")),
    ("Return the number 42 and nothing else.\n\n<input>abc</input>", matches("42")),
    ("What is 2+2?\n\nContent:\nnothing here", matches("4")),
    ('Fix this code:\n"""\nprint(1)\n"""\nand answer with the word yes.', matches("yes")),
    ("Reply with exactly: write a summary of the text", matches("write a summary of the text")),
    ("Reply with exactly this: tl;dr", matches("tl;dr")),
    ("Summarize the text.\n\n<text>\nAda wrote it. She was first.\n</text>", matches("Ada wrote it. She was first.")),
]


PHRASINGS["kinds that agents, graders and extractors need"] = [
    (  # Griptape's: the schema stands in the instructions, the list is ordered by the user
        'Template: """{"type": "object", "properties": {"name": {"description": "Name of a user", "type": "string"}}, "required": ["name"]}""" ¦ '
        'Extract information into an array of JSON objects.\nText: """Ann met Bob."""\n\nJSON array:',
        is_json(lambda v: {"name": "Ann"} in v and {"name": "description"} not in v),
    ),
    (  # a message that only announces the answer
        "What is 3 + 4? ¦ Answer:",
        matches("7"),
    ),
    (  # Genkit's
        "Is the risk low? It is HIGH. Output should be ONLY one of the following enum values. Add no quotes.\n\nLOW\nHIGH",
        matches("HIGH"),
    ),
    (  # TypeChat's
        'Translate the request into a JSON object of type "Cart":\n```\ninterface Cart { items: (Line | Unknown)[]; }\n'
        'interface Unknown { type: "unknown"; text: string; }\ninterface Line { type: "line"; product: string; }```\n'
        'The request:\n"""\ntwo lattes\n"""\nThe JSON object:\n',
        is_json(lambda v: v["items"][0] == {"type": "line", "product": "lattes"}),
    ),
    (  # the example's other members are no options
        'Return JSON like {"memory": [{"text": "First memory", "about": "user"}, {"text": "Second memory"}]}\n\n'
        "## New Messages\nuser: I love science fiction.\nassistant: Noted.\n",
        is_json(lambda v: v["memory"][0]["text"] == "I love science fiction"),
    ),
    (
        'Return JSON: {"result": string, "failed": boolean}. The task:\n\n==========\nPlan a trip to Rome\n==========\n',
        is_json(lambda v: v["failed"] is False),
    ),
    (  # LlamaIndex's: its reader splits the score from the reasons
        "Return a line with only the score. On a separate line provide your reasoning for the score. "
        "Your score has to be between 1 and 5. ¦ ## User Query\nWhat is the capital?\n\n## Generated Answer\nOslo",
        matches(r"[1-5]\n[^\n]{3,}"),
    ),
    (  # the name of another key is no name
        "Return JSON with keys name, urgency (high|low), issue. Alice wants to cancel. Urgency is high.",
        is_json(lambda v: v["name"] == "Alice"),
    ),
    ("Answer in one word: what is the capital of Norway? The capital of Norway is Oslo.", matches("Oslo")),
    (
        "Generate a one-line commit message for the changes:\n\n+ return the tide",
        matches("Return Tide"),
    ),
    (
        "Answer as a bulleted list. Context: Ada is a mathematician. ¦ Who is Ada?",
        matches("- Ada is a mathematician."),
    ),
    (
        "Extract what you need in <memory> before you plan.\n<memory>\nNo earlier interactions were found.\n</memory> ¦ What is a robot?",
        lambda text: "<" not in text,
    ),
]


def test_options_may_follow_what_they_are_for_in_a_message_of_their_own() -> None:
    order = "Output should be ONLY one of the following enum values.\n\nLOW\nHIGH"
    (part,) = answer_as_model(call("The risk is high.", order), Seed(0), {}).parts
    assert isinstance(part, Text)
    assert part.text == "HIGH"


ALONE = Message("system", "Instruct me. When the task is completed, you must only reply with a single word <DONE>.")


def test_a_word_that_is_to_come_alone_ends_no_first_answer() -> None:
    begin = Message("user", "Give me the first instruction.")
    (first,) = answer_as_model(call(ALONE, begin), Seed(0), {}).parts
    assert isinstance(first, Text)
    assert "DONE" not in first.text
    (last,) = answer_as_model(call(ALONE, begin, Message("assistant", first.text), "I did so."), Seed(0), {}).parts
    assert isinstance(last, Text)
    assert last.text == "<DONE>"


def test_passages_may_be_messages_of_their_own() -> None:
    said = "Rank the passages by their relevance to: cats. The output format should be [] > [], e.g., [1] > [2]."
    shown = [Message("user", "[1] Dogs bark."), Message("assistant", "Received."), Message("user", "[2] Cats sleep.")]
    (part,) = answer_as_model(call(*shown, Message("assistant", "Received."), said), Seed(0), {}).parts
    assert isinstance(part, Text)
    assert part.text == "[2] > [1]"


@pytest.mark.parametrize(("prompt", "check"), orders(PHRASINGS))
def test_an_order_in_many_words(prompt: str, check: Check) -> None:
    check_order(prompt, check)
