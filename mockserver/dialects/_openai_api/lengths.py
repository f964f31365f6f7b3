"""How long answers must at least be: fields that vLLM, SGLang and their like read, and that load generators send."""

from msgspec.structs import replace

from mockserver.core.call import Options
from mockserver.dialects._parse import Body

MAX_ENDLESS_TOKENS = 65_536  # tokens of all endless texts together
LENGTHENING = frozenset(("ignore_eos", "min_tokens"))


def read_least_length(options: Options, body: Body, *, choices: int) -> Options:
    """Return the options with what a body says of the least length of its `choices`.

    No API's schema checks these fields: a value of another kind is ignored.
    """
    least = body.get("min_tokens")
    most = MAX_ENDLESS_TOKENS // max(choices, 1)
    if type(least) is int and least > 0:
        options = replace(options, min_tokens=min(least, most))
    if body.get("ignore_eos") is not True:
        return options
    options = replace(options, ignore_eos=True)
    is_limited = options.usual_tokens is not None or (options.max_tokens or most + 1) <= most
    return options if is_limited else replace(options, usual_tokens=most)
