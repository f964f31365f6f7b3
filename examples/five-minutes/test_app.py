from app import sort


def test_a_letter_comes_to_its_desk(mockserver):
    mockserver.on(last_user="*charged twice*").reply(json={"desk": "billing", "urgent": False})

    ticket = sort("I was charged twice for order 7.")

    assert (ticket.desk, ticket.urgent) == ("billing", False)


def test_the_model_is_told_which_desks_there_are(mockserver):
    mockserver.on().reply(json={"desk": "delivery", "urgent": True})

    sort("Where is my parcel?")

    call = mockserver.calls[0]
    assert call.model == "gpt-4o-mini"
    assert "billing, delivery, returns" in call.messages[0].text


def test_a_person_reads_what_the_model_makes_nothing_of(mockserver):
    mockserver.on().reply(refusal="I am afraid I cannot help with that.")

    assert sort("asdf").desk == "a person"


def test_a_desk_that_is_made_up_is_none(mockserver):
    mockserver.on().reply(json={"desk": "astrology", "urgent": False})

    assert sort("What do the stars say of my parcel?").desk == "a person"
