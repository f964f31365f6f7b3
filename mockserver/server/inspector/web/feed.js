// The live connection: server-sent events read with fetch, as EventSource can send no token. A hidden tab has none.
import { batch } from "@preact/signals";

import { get, locked, stream } from "./api.js";
import { searchAgain } from "./query.js";
import * as state from "./state.js";

const WAITS = [500, 1000, 2000, 5000]; // milliseconds before the next try
const [FIRST, CHUNK] = [200, 500];

let controller = null;
let boot = "";
let filling = false;

export function start() {
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : run()));
  locked.subscribe((is) => is || document.hidden || run());
}

function stop() {
  controller?.abort();
  controller = null;
  state.connection.value = "paused";
}

async function run() {
  if (controller) return;
  const mine = (controller = new AbortController());
  for (let tries = 0; controller === mine && !locked.value; tries++) {
    try {
      const answer = await stream("feed", { namespace: "*", since: state.last() }, mine.signal);
      tries = 0;
      await read(answer.body.getReader());
      state.connection.value = "lost";
    } catch (error) {
      if (mine.signal.aborted) return;
      state.connection.value = error.status === 429 ? "busy" : "lost";
    }
    if (!locked.value) await new Promise((resolve) => setTimeout(resolve, WAITS[Math.min(tries, 3)]));
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
  ["rules", () => state.rulesChanged.value++],
  ["problem", (event) => (state.problem.value = event)],
]);

function hello(event) {
  const another = boot && boot !== event.boot;
  if (another) {
    state.clear();
    state.say("The server has started again: its journal is empty.");
  }
  if (boot !== event.boot || !state.total.value) fill();
  else reload(state.openNumbers());
  boot = event.boot;
  state.connection.value = "live";
  state.rulesChanged.value++;
  refresh();
}

export async function refresh() {
  state.ready.value = await get("ready").catch(() => state.ready.value);
  if (state.ready.value && "problem" in state.ready.value) state.problem.value = state.ready.value.problem;
}

let [searching, unsaid] = [0, 0];

function calls(event) {
  const fresh = event.rows.filter((row) => row.call > state.last());
  state.add(event.rows);
  if (event.more) between(...event.more);
  if (!searching && fresh.length) {
    searching = setTimeout(() => ((searching = 0), searchAgain(state.query.value.terms)), 500);
  }
  unsaid += fresh.length;
}

/** Return how many calls came since this was asked last. */
export function arrivedCalls() {
  const count = unsaid;
  unsaid = 0;
  return count;
}

async function between(from, to) {
  for (let before = to + 1; before > from; ) {
    const { calls: found } = await get("calls", { namespace: "*", compact: true, before, since: from - 1, limit: CHUNK });
    if (!found.length) return;
    state.add(found);
    before = found[0].call;
  }
}

/** Read the summaries of all calls, the newest first, while the page is idle. */
async function fill() {
  if (filling) return;
  filling = true;
  try {
    for (let limit = FIRST, next; ; limit = CHUNK) {
      const { calls: found } = await get("calls", { namespace: "*", compact: true, limit, before: next });
      state.add(found);
      if (found.length < limit) break;
      next = found[0].call;
      await idle();
    }
    state.complete.value = true;
  } catch {
    // the connection is lost: the next hello fills again
  } finally {
    filling = false;
  }
}

const idle = () => new Promise((resolve) => requestIdleCallback(resolve, { timeout: 200 }));

/** Ask for summaries again, for those that were open while there was no connection. */
async function reload(numbers) {
  for (let at = 0; at < numbers.length; at += 100) {
    const asked = numbers.slice(at, at + 100).join(",");
    state.add((await get("calls", { namespace: "*", compact: true, numbers: asked })).calls);
  }
}

const digested = new Map(); // what a digest was asked for: the end of its call at that time

/** Ask for what was said in these calls, where it is not known yet. */
export async function digest(list) {
  const wanted = list.filter((row) => digested.get(row.call) !== row.ended).slice(0, 100);
  if (!wanted.length) return;
  wanted.forEach((row) => digested.set(row.call, row.ended));
  try {
    const asked = wanted.map((row) => row.call).join(",");
    state.add((await get("calls", { namespace: "*", compact: true, digest: true, numbers: asked })).calls);
  } catch {
    wanted.forEach((row) => digested.delete(row.call));
  }
}
