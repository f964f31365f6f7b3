// Server-sent events read with fetch, as EventSource can send no token. A hidden tab has none.
import { batch } from "@preact/signals";

import { get, locked, stream } from "./api.js";
import { searchAgain } from "./query.js";
import * as state from "./state.js";

const WAITS = [500, 1000, 2000]; // milliseconds before the next try
const [FIRST, CHUNK, PART] = [200, 500, 100]; // calls of a request

let controller = null;
let boot = "";
let filling = ""; // the start of the server whose calls are read

export function start() {
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : run()));
  locked.subscribe((source) => source !== null || document.hidden || run());
}

function stop() {
  controller?.abort();
  controller = null;
  state.connection.value = "paused";
}

async function run() {
  if (controller) return;
  const mine = (controller = new AbortController());
  for (let tries = 0; controller === mine && locked.value === null; tries++) {
    try {
      const answer = await stream("feed", { namespace: "*", since: state.last() }, mine.signal);
      tries = 0;
      await read(answer.body.getReader());
      state.connection.value = "lost";
    } catch (error) {
      if (mine.signal.aborted) return;
      state.connection.value = error.status === 429 ? "busy" : "lost";
    }
    if (locked.value === null) await new Promise((resolve) => setTimeout(resolve, WAITS[Math.min(tries, 2)]));
  }
  if (controller === mine) controller = null;
}

async function read(reader) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = events.pop();
    batch(() => events.forEach(take));
  }
}

function take(text) {
  const fields = new Map();
  for (const line of text.split("\n")) {
    const [, name, value] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
    if (name) fields.set(name, value);
  }
  if (fields.has("data")) EVENTS.get(fields.get("event"))?.(JSON.parse(fields.get("data")));
}

const EVENTS = new Map([
  ["hello", hello],
  ["calls", calls],
  ["gone", (event) => state.forget(event.before, event.namespace)],
  ["rules", rules],
  ["problem", (event) => (state.problem.value = event)],
]);

function hello(event) {
  const another = boot && boot !== event.boot;
  if (another) {
    state.clear();
    digested.clear();
    state.say("The server has begun a new journal.");
  }
  boot = event.boot;
  if (!state.complete.value) fill();
  else if (event.since > state.last()) between(state.last() + 1, event.since);
  reload(state.openNumbers());
  state.connection.value = "live";
  rules({ count: event.rules });
  refresh();
}

function rules({ count }) {
  state.rules.value = count;
  state.rulesChanged.value++;
}

export async function refresh() {
  state.ready.value = await get("ready").catch(() => state.ready.value);
  if (state.ready.value && "problem" in state.ready.value) state.problem.value = state.ready.value.problem;
}

let [searching, unsaid, calm] = [0, 0, 0];
let skipped = []; // calls that came too fast: first, last

function calls(event) {
  const fresh = event.rows.filter((row) => row.call > state.last());
  state.add(event.rows);
  if (event.more) later(...event.more);
  if (!searching && fresh.length) {
    searching = setTimeout(() => ((searching = 0), searchAgain(state.query.value.terms)), 500);
  }
  unsaid += fresh.length;
}

/** Read calls that came too fast once it is calm. */
function later(from, to) {
  skipped = [skipped[0] ?? from, to];
  clearTimeout(calm);
  calm = setTimeout(() => between(...skipped.splice(0)), 500);
}

export function arrivedCalls() {
  const count = unsaid;
  unsaid = 0;
  return count;
}

async function summaries(params) {
  const before = boot;
  const { calls: found } = await get("calls", { namespace: "*", compact: true, service: true, ...params });
  return before === boot ? found : [];
}

async function between(from, to) {
  for (let before = to + 1; before > from; ) {
    const found = await summaries({ before, since: from - 1, limit: CHUNK });
    if (!found.length) return;
    state.add(found);
    before = found[0].call;
  }
}

async function fill() {
  if (filling === boot) return;
  const mine = (filling = boot);
  try {
    for (let limit = FIRST, before; ; limit = CHUNK) {
      const found = await summaries({ limit, before });
      if (mine !== boot) return;
      state.add(found);
      if (found.length < limit) break;
      before = found[0].call;
      await idle();
    }
    state.complete.value = true;
  } catch {
    filling = ""; // the connection is lost: the next hello fills again
  }
}

const idle = () => new Promise((resolve) => requestIdleCallback(resolve, { timeout: 200 }));

const inParts = (numbers) =>
  Array.from({ length: Math.ceil(numbers.length / PART) }, (_, at) => numbers.slice(at * PART, (at + 1) * PART).join());

async function reload(open) {
  for (const numbers of inParts(open)) state.add(await summaries({ numbers }));
}

const digested = new Map();
const missed = new Set(); // calls whose digests could not be read
let retry = 0;
const stamp = (row) => `${row.at} ${row.ended}`;

export async function digest(rows) {
  const wanted = rows.filter((row) => digested.get(row.call) !== stamp(row));
  wanted.forEach((row) => digested.set(row.call, stamp(row)));
  try {
    for (const numbers of inParts(wanted.map((row) => row.call))) state.add(await summaries({ digest: true, numbers }));
  } catch {
    for (const { call } of wanted) {
      digested.delete(call);
      missed.add(call);
    }
    clearTimeout(retry);
    retry = setTimeout(digestMissed, WAITS.at(-1));
  }
}

function digestMissed() {
  const rows = [...missed].map(state.row).filter(Boolean);
  missed.clear();
  digest(rows);
}
