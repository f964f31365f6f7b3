from html.parser import HTMLParser

from mockserver.reports.coverage import Coverage, Entry, File, owned, page
from tests.kit.covered import FILE, RULES, covered

TEXT = RULES.splitlines()


class Rows(HTMLParser):
    """The rows of a page: the class of each, and what its cells say."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.within = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([dict(attrs).get("class", "")])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.within = True
        assert tag not in ("script", "link", "img")

    def handle_endtag(self, tag):
        self.within = self.within and tag not in ("td", "th")

    def handle_data(self, data):
        if self.within:
            self.rows[-1][-1] += data


def rows(coverage, texts):
    return Rows(page(coverage, texts)).rows


def test_each_line_says_whether_it_was_used():
    found = [row for row in rows(covered(), {FILE: TEXT}) if row[0]][: len(TEXT)]
    assert [row[3] for row in found] == TEXT
    assert [(row[1], row[0], row[2]) for row in found] == [
        ("1", "none", ""),
        ("2", "unused", "never"),
        ("3", "unused", ""),
        ("4", "unused", ""),
        ("5", "unused", "never"),
        ("6", "unused", "never"),
        ("7", "none", ""),
        ("8", "none", ""),
        ("9", "none", ""),
        ("10", "used", "2×"),
        ("11", "used", ""),
        ("12", "used", ""),
        ("13", "used", "1×"),
        ("14", "used", "1×"),
        ("15", "used", ""),
        ("16", "used", ""),
        ("17", "used", "1×"),
        ("18", "used", ""),
        ("19", "used", ""),
        ("20", "part", "1×never1×"),
    ]


def test_lines_belong_to_the_innermost():
    owners = owned(TEXT, covered().files[0].entries)
    inner = {line: [entry.label for entry in entries] for line, entries in owners.items()}
    assert [inner[line] for line in (12, 15, 16, 17, 19)] == [
        ["rule"],
        ["steps[1]"],
        ["steps[1]"],
        ["steps[1].faults[0] cut"],
        ["rule"],
    ]
    assert inner[20] == ["rule", "steps[0]", "steps[1]"]
    assert 9 not in inner


def test_sums_of_each_file_and_of_all():
    head, rules, tests, total = rows(covered(), {})[:4]
    assert head[1:] == ["File", "Rules", "Steps", "Branches", "Faults", "Cover"]
    assert rules[1:] == ["tests/rules.yaml", "2 / 3", "3 / 4", "0 / 2", "1 / 1", " 60%"]
    assert tests[1:] == ["test_app.py", "1 / 1", "–", "–", "–", " 100%"]
    assert total[1:] == ["Total", "3 / 4", "3 / 4", "0 / 2", "1 / 1", " 63%"]


def test_of_a_file_that_is_gone_the_lines_are_shown_that_were_seen():
    found = [row for row in rows(covered(), {}) if row[0]]
    assert [row[1] for row in found] == ["2", "5", "6", "10", "13", "14", "17", "20", "2"]
    assert found[:2] == [["unused", "2", "never", "  - name: weather"], ["unused", "5", "never", "one_of[0]"]]


def test_nothing_that_is_shown_is_html():
    bad = "<script>alert('x')</script>&\"{braces}"
    entry = Entry("rule", 1, 1, bad, 0, text=bad, rule=1)
    shown = page(Coverage((File("/a", bad, False, (entry,)),)), {"/a": [bad]})
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;&quot;{braces}") == 4
    assert page(Coverage(()), {}).startswith("<!doctype html>")
