// A page with a form whose answer comes from Gemini.
import { createServer } from "node:http";
import { GoogleGenAI } from "@google/genai";

const client = new GoogleGenAI({}); // reads GOOGLE_GEMINI_BASE_URL and GEMINI_API_KEY
const PAGE = `<!doctype html><title>Greeter</title>
<form onsubmit="event.preventDefault(); greet(name.value)"><input name="name" aria-label="name"><button>Greet</button></form>
<p role="status"></p>
<script>
async function greet(name) {
  const answer = await fetch("/greet?name=" + encodeURIComponent(name));
  document.querySelector("p").textContent = await answer.text();
}
</script>`;

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://app");
  if (pathname !== "/greet") return response.setHeader("content-type", "text/html").end(PAGE);
  try {
    const contents = `Greet ${searchParams.get("name")}.`;
    const answer = await client.models.generateContent({ model: "gemini-2.5-flash", contents });
    response.end(answer.text);
  } catch (error) {
    response.end(`Sorry, I can't greet now (${error.status}).`);
  }
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
