"""What a rule answers: each kind of `then` compiled to a responder."""
