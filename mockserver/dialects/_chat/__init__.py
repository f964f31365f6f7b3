"""OpenAI's chat request, for OpenAI and its look-alikes: its model, what no type can say, the Call."""
