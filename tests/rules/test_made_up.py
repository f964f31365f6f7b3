"""The one generator of Faker's values: the same everywhere, at a time that stands still."""

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta

from mockserver.core.seed import FROZEN_AT, Seed
from mockserver.rules.made_up import drawing, get_generator


def test_there_is_one_generator() -> None:
    assert get_generator() is get_generator()


def test_the_stream_decides() -> None:
    made = []
    for _ in range(2):
        get_generator().random = Seed(1).stream("x")
        made.append((get_generator().job(), get_generator().city(), get_generator().postcode()))
    assert made[0] == made[1]


def test_time_stands_still() -> None:
    now = datetime.fromtimestamp(FROZEN_AT)
    for number in range(20):
        get_generator().random = Seed(number).stream("x")
        assert abs(get_generator().date_time_this_year() - now) < timedelta(days=366)
        assert isinstance(get_generator().date_of_birth(), date)


def test_threads_take_turns() -> None:
    """Each gets what its own stream gives, however they come between each other."""

    def drawn(number: int) -> list[str]:
        told = []
        for at in range(200):
            with drawing(Seed(number).stream("name", str(at))) as faker:
                told.append(faker.name() + faker.street_address())
        return told

    alone = [drawn(number) for number in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(drawn, range(4))) == alone
    finally:
        sys.setswitchinterval(interval)
