"""OpenAI's text completions: the request, and the replies of all who speak them."""
