"""What the words around a mention tell."""

from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.neighbours import alike, context, elsewhere, role
from mockserver.engine.generate.prompt.wanted import wanted

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
