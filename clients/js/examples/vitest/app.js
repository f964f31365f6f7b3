export async function greet(client, name) {
  const messages = [{ role: "user", content: `Greet ${name}.` }];
  const answer = await client.chat.completions.create({ model: "gpt-4o", messages });
  return answer.choices[0].message.content;
}
