"""What every framework gets: tools as plain functions, types as models, and prompts that name the values."""

from typing import Any, Literal

from pydantic import BaseModel, Field

WEATHER = "What is the weather in Paris?"
TWO_CITIES = "What is the weather in Lagos and in Tokyo? Use fahrenheit."
WEATHER_AND_MONEY = "Look up the weather in Oslo and convert 120 EUR to USD."
PERSON = "Ada Lovelace is 36 years old and lives in London."
WEATHER_AND_PERSON = "My name is Ada Lovelace, I am 36 years old. What is the weather in Paris?"
PEOPLE = "John Doe is 25 years old, Jane Roe is 31 years old."


def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Get the current weather in a city.

    Args:
        city: The name of the city.
        unit: The unit of the temperature.
    """
    return f"21 degrees {unit} and sunny in {city}"


def convert_currency(amount: float, from_currency: str, to_currency: str) -> str:
    """Convert an amount of money to another currency.

    Args:
        amount: How much money.
        from_currency: The currency that the money is in, as a code of three letters.
        to_currency: The currency to convert to, as a code of three letters.
    """
    return f"{amount:.0f} {from_currency} are {amount * 1.5:.2f} {to_currency}"


def use(name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A call with all that its tool goes by: a model may leave out what has a default."""
    return name, {"unit": "celsius", **arguments} if name == get_weather.__name__ else arguments


class Person(BaseModel):
    """A person."""

    name: str = Field(description="The full name")
    age: int
