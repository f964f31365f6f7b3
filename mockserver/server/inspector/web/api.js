// Requests to the control API, from here only.
import { signal } from "@preact/signals";

const BASE = new URL("api/", document.baseURI);
const TOKEN = "mockserver-token";

export const locked = signal(null); // where the token is found, if the server asks for it

export class RefusedError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function takeToken() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return;
  setToken(decodeURIComponent(found[1]));
  history.replaceState(null, "", location.pathname + location.search);
}

export function setToken(token) {
  sessionStorage.setItem(TOKEN, token);
  locked.value = null;
}

function located(path, params = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(params)) if ((value ?? "") !== "") url.searchParams.set(name, value);
  return url;
}

async function ask(method, path, { params, body, type, signal: stop } = {}) {
  const headers = { "x-mockserver-control": "1" };
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers["x-mockserver-token"] = token;
  if (body !== undefined) headers["content-type"] = type ?? "application/json";
  const data = body === undefined || type ? body : JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(located(path, params), { method, headers, body: data, signal: stop, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RefusedError(0, "the server does not answer");
  }
  if (answer.ok) return answer;
  const content = await answer.json().catch(() => ({}));
  if (answer.status === 401) locked.value = content.token ?? "";
  throw new RefusedError(answer.status, content.error ?? `the server answered ${answer.status}`);
}

const json = async (...asked) => (await ask(...asked)).json();

export const get = (path, params, stop) => json("GET", path, { params, signal: stop });
export const text = async (path, params) => (await ask("GET", path, { params })).text();
export const blob = async (path, params) => (await ask("GET", path, { params })).blob();
export const post = (path, body, params, stop) => json("POST", path, { body: body ?? {}, params, signal: stop });
export const postYaml = (path, body, params) => json("POST", path, { body, params, type: "application/yaml" });
export const put = (path, body, params) => json("PUT", path, { body, params });
export const remove = (path, params) => json("DELETE", path, { params });
export const stream = (path, params, stop) => ask("GET", path, { params, signal: stop });
