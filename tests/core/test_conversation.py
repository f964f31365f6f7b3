from mockserver.core.call import Prompt
from mockserver.core.tokens import APPROX


def test_a_prompt_is_split_unless_its_tokens_were_sent() -> None:
    assert Prompt("one two").find_tokens(APPROX) == ("one", " two")
    assert Prompt("one two", (1, 2, 3)).find_tokens(APPROX) == ("<|1|>", "<|2|>", "<|3|>")
