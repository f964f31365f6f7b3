import os
import subprocess
import sys
from datetime import datetime

import pytest

from mockserver.rules.templates import Fake, providers
from tests.kit.calls import call
from tests.kit.rules import rendered, scope

HERE = scope(call("hello", meaning={"a": 1}))


def fake(at=HERE, *labels):
    return Fake(at, labels or ("a rule", "then/text"))


@pytest.mark.parametrize("name", sorted(providers()))
def test_every_value_is_plain_and_the_same_every_time(name):
    value = fake()[name]
    assert fake()[name] == value
    assert isinstance(value, str | int | float | tuple | None)


def test_each_value_has_its_own_stream():
    values = fake()
    first = values["name"], values["city"], values["name"]
    assert len(set(first)) == 3
    again = fake()
    assert (again["city"], again["name"]) == (first[1], first[0])


def test_the_call_the_rule_the_place_and_the_seed_decide():
    names = {
        fake()["name"],
        fake(HERE, "another rule", "then/text")["name"],
        fake(HERE, "a rule", "then/json/0")["name"],
        fake(scope(call("hello", meaning={"a": 2})))["name"],
        fake(scope(call("hello", meaning={"a": 1}), seed=1))["name"],
    }
    assert len(names) == 5


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("date_this_year", "2023-01-01", "2023-11-14"),
        ("date_this_month", "2023-11-01", "2023-11-14"),
        ("date_this_decade", "2020-01-01", "2023-11-14"),
        ("past_date", "2023-10-14", "2023-11-14"),
        ("future_date", "2023-11-14", "2023-12-15"),
        ("date_of_birth", "1900-01-01", "2023-11-14"),
        ("date_time", "1970-01-01", "2023-11-15"),
        ("date_time_this_month", "2023-11-01", "2023-11-15"),
        ("future_datetime", "2023-11-14", "2023-12-15"),
        ("past_datetime", "2023-10-14", "2023-11-15"),
        ("iso8601", "1970-01-01", "2023-11-15"),
    ],
)
def test_dates_know_no_today(name, low, high):
    for number in range(20):
        value = fake(HERE, str(number))[name]
        assert low <= value <= high
        datetime.fromisoformat(value)


def test_the_clock_the_zone_and_the_hash_of_the_machine_do_not_matter():
    program = (
        "from tests.engine.templates.test_fakes import fake, providers\n"
        "print([(name, fake()[name]) for name in sorted(providers())])"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "TZ": zone, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for zone, seed in (("UTC", "1"), ("Asia/Tokyo", "2"))
    ]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "name",
    ["seed", "seed_instance", "random", "add_provider", "binary", "tar", "json", "pyobject", "_factories", "generator",
     "get_words_list", "random_element", "profile", "uuid1", "format", "parse"],
)  # fmt: skip
def test_nothing_but_values_can_be_reached(name):
    with pytest.raises(KeyError):
        fake()[name]


def test_faker_itself_is_left_alone():
    fake()["date_this_year"]
    from faker import Faker
    from faker.providers import date_time

    assert date_time.datetime is datetime
    assert Faker().date_time_this_year().year == datetime.now().year


def test_templates_take_them():
    assert rendered("{{ fake.name }} of {{ fake.city }}", HERE) == rendered("{{ fake.name }} of {{ fake.city }}", HERE)
    assert rendered("{{ fake['first_name'] }}", HERE) == fake(HERE, "a rule", "then/text")["first_name"]
    assert len(set(rendered("{{ fake.name }}|{{ fake.name }}", HERE).split("|"))) == 2
