// The control API of a running mockserver. Needs only `fetch`, so that it runs in browsers and workers too.

/** What clients take as base URL, below the server's address or a namespace of it. */
export const PATHS = Object.freeze({
  anthropic: "/anthropic",
  azure: "/azure",
  azure_openai: "/azure-openai",
  bedrock: "/bedrock",
  cohere: "/cohere",
  compatible: "/compatible/v1",
  crazyrouter: "/crazyrouter/v1",
  fireworks: "/fireworks/inference/v1",
  gemini: "/gemini",
  jina: "/jina",
  mistral: "/mistral/v1",
  ollama: "/ollama",
  openai: "/openai/v1",
  skytells: "/skytells/v1",
  tzafon: "/tzafon/v1",
  voyage: "/voyage/v1",
  cerebras: "/cerebras/v1",
  deepseek: "/deepseek",
  groq: "/groq/openai/v1",
  lmstudio: "/lmstudio/v1",
  openrouter: "/openrouter/api/v1",
  perplexity: "/perplexity",
  together: "/together/v1",
  vllm: "/vllm/v1",
  xai: "/xai/v1",
});

const KEY = "sk-mockserver";
const POLL = 20; // milliseconds between two looks at the calls
const variables = globalThis.process?.env ?? {};

export class MockserverError extends Error {
  /** `status` is that of the control API; undefined if the server did not answer or did not start. */
  constructor(message, { status, mistakes = [], cause } = {}) {
    super(message, { cause });
    this.name = "MockserverError";
    this.status = status;
    this.mistakes = mistakes;
  }
}

export class Mockserver {
  #token;

  constructor(address = variables.MOCKSERVER_URL ?? "http://127.0.0.1:8000", options = {}) {
    this.address = address.replace(/\/+$/, "");
    this.#token = options.token ?? variables.MOCKSERVER_CONTROL_TOKEN;
  }

  /** Rules, counters and calls of their own: one for each test. Without a name, a new one. */
  namespace(name = crypto.randomUUID()) {
    return new Namespace(this, name);
  }

  /** Clear all namespaces. */
  async reset() {
    await this.control("POST", "reset", { query: { namespace: "*" } });
  }

  /** Wait until the server answers. Returns its version, dialect, files and number of rules. */
  async ready({ timeout = 30_000 } = {}) {
    let last;
    const answer = await until(timeout, async () => {
      try {
        return await this.control("GET", "ready");
      } catch (error) {
        if (error.status !== undefined) throw error;
        last = error;
      }
    });
    if (!answer) throw last;
    return answer;
  }

  /** A request to the control API; resolves to its JSON. */
  async control(method, path, { query = {}, body } = {}) {
    const url = new URL(`${this.address}/__mockserver__/api/${path}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const headers = { "x-mockserver-control": "1" };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (this.#token) headers.authorization = `Bearer ${this.#token}`;
    let response;
    try {
      response = await fetch(url, { method, headers, body: JSON.stringify(body) });
    } catch (cause) {
      throw new MockserverError(`no mockserver answers at ${this.address}; start one, or set MOCKSERVER_URL`, { cause });
    }
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    throw refusal(response.status, text);
  }
}

export class Namespace {
  #server;

  constructor(server, name) {
    if (name.includes("/")) throw new MockserverError(`the namespace "${name}" has a "/", which no path can hold`);
    this.#server = server;
    this.name = name;
    this.address = name === "default" ? server.address : `${server.address}/ns/${encodeURIComponent(name)}`;
  }

  baseURL(dialect = "openai") {
    if (!Object.hasOwn(PATHS, dialect)) {
      throw new MockserverError(`there is no dialect "${dialect}"; there are ${Object.keys(PATHS).join(", ")}`);
    }
    return this.address + PATHS[dialect];
  }

  /** The variables that the clients of OpenAI, Azure OpenAI, Anthropic and Google read. */
  environment(key = KEY) {
    return {
      MOCKSERVER_URL: this.#server.address,
      OPENAI_BASE_URL: this.baseURL("openai"),
      OPENAI_API_KEY: key,
      AZURE_OPENAI_ENDPOINT: this.baseURL("azure_openai"),
      AZURE_OPENAI_API_KEY: key,
      ANTHROPIC_BASE_URL: this.baseURL("anthropic"),
      ANTHROPIC_API_KEY: key,
      GOOGLE_GEMINI_BASE_URL: this.baseURL("gemini"),
      GEMINI_API_KEY: key,
    };
  }

  /** Add a rule before all others. Returns its name. */
  async rule(when, then, more = {}) {
    const [name] = await this.addRules([{ ...more, when, then }]);
    return name;
  }

  /** Add rules before all others, the first before the second. Returns their names. */
  async addRules(rules, { replace } = {}) {
    return (await this.#control("POST", "rules", { body: { rules }, query: { replace } })).names;
  }

  /** Remove one of the added rules, or all of them. Returns the names of those that are gone. */
  async removeRules(name) {
    const path = name === undefined ? "rules" : `rules/${encodeURIComponent(name)}`;
    return (await this.#control("DELETE", path)).removed;
  }

  async rules() {
    return (await this.#control("GET", "rules")).rules;
  }

  /** The calls so far, the oldest first. Filters are those of `GET calls`. */
  async calls(filters = {}) {
    return (await this.#control("GET", "calls", { query: filters })).calls;
  }

  /** One call with its request, its answer and the rules that were near. */
  async call(number) {
    return this.#control("GET", `calls/${number}`);
  }

  /** Wait until at least `count` answers have been sent or broken off. Returns these calls. */
  async waitForCalls(count = 1, { timeout = 5_000, ...filters } = {}) {
    let calls = [];
    const enough = await until(timeout, async () => {
      calls = (await this.calls(filters)).filter((call) => call.ended !== "open");
      return calls.length >= count;
    });
    if (enough) return calls;
    const came = calls.map((call) => `\n  ${call.call} ${call.method} ${call.path} -> ${call.status} ${call.source}`);
    throw new MockserverError(`${calls.length} of ${count} calls came within ${timeout} ms${came.join("")}`);
  }

  async forgetCalls() {
    await this.#control("DELETE", "calls");
  }

  async state() {
    return (await this.#control("GET", "state")).namespaces[0];
  }

  async setState(state) {
    await this.#control("POST", "state", { body: { state } });
  }

  /** Play another cassette, with `record` if it may be recorded; null plays none. */
  async playCassette(name, record) {
    return this.#control("PUT", "cassette", { body: { name, ...(record && { record }) } });
  }

  /** Send answers at once, or as they are timed. */
  async setTiming(on) {
    await this.#control("POST", "timing", { body: { on } });
  }

  /** Forget rules, counters, state, stored answers and calls. */
  async reset() {
    await this.#control("POST", "reset");
  }

  #control(method, path, { query, body } = {}) {
    return this.#server.control(method, path, { query: { ...query, namespace: this.name }, body });
  }
}

function refusal(status, text) {
  try {
    const { error, mistakes } = JSON.parse(text);
    return new MockserverError(error, { status, mistakes });
  } catch {
    return new MockserverError(`${status}: ${text.slice(0, 200)}`, { status });
  }
}

/** Call `look` until it returns something true, which is returned, or time is up. */
async function until(timeout, look) {
  const deadline = performance.now() + timeout;
  for (;;) {
    const found = await look();
    if (found || performance.now() > deadline) return found;
    await new Promise((done) => setTimeout(done, POLL));
  }
}
