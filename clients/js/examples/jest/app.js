import Anthropic from "@anthropic-ai/sdk";

export async function greet(name) {
  const client = new Anthropic(); // reads ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY
  const messages = [{ role: "user", content: `Greet ${name}.` }];
  const answer = await client.messages.create({ model: "claude-opus-4-8", max_tokens: 100, messages });
  return answer.content[0].text;
}
