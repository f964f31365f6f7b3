"""What the words around a mention tell."""

from mockserver.model.arguments.properties import wanted
from mockserver.model.arguments.scoring import alike, context, elsewhere, role
from mockserver.model.arguments.values import Mention

STRING = {"type": "string"}


def test_a_word_beside_names_the_property() -> None:
    patient = wanted("patient", STRING, 0)
    assert context(Mention("name", "Ann", 0, 3, before=("patient",)), patient) > 30
    assert context(Mention("name", "Ann", 0, 3, before=("with",)), patient) == 0


def test_what_follows_a_preposition_is_said_of_something_else() -> None:
    patient = wanted("patient", STRING, 0)
    assert context(Mention("name", "Ann", 0, 3, after=("patient",)), patient) > 0
    assert context(Mention("name", "Ann", 0, 3, after=("for", "patient")), patient) == 0


def test_prepositions_tell_from_and_to() -> None:
    origin = wanted("origin", STRING, 0)
    assert role(Mention("name", "Rome", 0, 4, cue="from"), origin) > 0
    assert role(Mention("name", "Rome", 0, 4, cue="to"), origin) < 0


def test_a_company_is_no_city() -> None:
    assert elsewhere(Mention("name", "Initech", 0, 7, before=("company",)), wanted("city", STRING, 0), 0) > 0


def test_stems_are_alike() -> None:
    assert alike("depart", "departure")
    assert not alike("depart", "arrival")
