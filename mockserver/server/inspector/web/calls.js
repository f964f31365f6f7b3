// The calls: filter, list and the open call.
import { useEffect, useRef } from "preact/hooks";

import { remove } from "./api.js";
import { Call } from "./call.js";
import { digest } from "./feed.js";
import { bind } from "./keys.js";
import { List } from "./list.js";
import { Action, Copyable, bdi, bytes, count, html, ms, plural, source, tokens, visible } from "./parts.js";
import { broke, failed, fits, isOpen, kind, searching, setsFor, toggled, unmatched } from "./query.js";
import * as state from "./state.js";
import { address, go, openCall, route } from "./url.js";

const HEIGHT = 44; // as in style.css

const setFilter = (q) => go(["calls", ...route.value.items], { q }, { replace: true });

export function Calls() {
  const number = openCall();
  const rows = state.shown.value;
  useEffect(() => {
    if (number !== null) state.active.value = number;
  }, [number]);
  useEffect(() => {
    if (reached?.call === state.active.value) oldest(); // nothing else was chosen since
  }, [rows, state.complete.value]);
  useEffect(() => bind({
    j: down,
    k: up,
    ArrowDown: down,
    ArrowUp: up,
    g: oldest,
    G: newest,
    f: follow,
    "/": () => document.getElementById("filter").focus(),
    Enter: () => (openCall() === null ? open(index()) : document.getElementById("call")?.focus()),
    Escape: back,
  }), []);
  return html`<${Filter} /><div class=${`panes ${number === null ? "" : "split"}`}>
    <section class="calls-pane" aria-label="Calls">
      ${rows.length ? html`<${Rows} rows=${rows} />` : html`<${Nothing} />`}
      <${Sums} rows=${rows} /></section>
    ${number !== null && html`<${Call} number=${number} key="call" />`}</div>`;
}

const following = () => state.follow.value && openCall() === null;

function follow() {
  state.follow.value = !following();
  if (state.follow.value) go(["calls"]);
}

const down = () => step(1);
const up = () => step(-1);
const index = () => state.shown.value.findIndex((row) => row.call === state.active.value);

function step(by) {
  const [rows, { value: active }] = [state.shown.value, state.active];
  if (active === null) return move(by > 0 ? 0 : Infinity);
  const at = index();
  if (at >= 0) return move(at + by);
  if (!state.complete.value && !(active >= state.first())) return state.say("Older calls are still loading.");
  const next = rows.findIndex((row) => row.call > active); // the active call does not fit the filter
  move((next < 0 ? rows.length : next) + (by > 0 ? 0 : -1));
}

let reached = null; // the oldest call by now, if it is wanted while older ones still load

function oldest() {
  state.follow.value = false;
  move(0);
  reached = state.complete.value ? null : { call: state.active.value };
}

function newest() {
  state.follow.value = openCall() === null;
  move(Infinity);
}
const open = (at) => at >= 0 && state.show(state.shown.value[at].call);

function move(to) {
  const { length } = state.shown.value;
  const row = state.shown.value[Math.max(0, Math.min(to, length - 1))];
  if (row && openCall() !== null) state.show(row.call);
  else if (row) state.active.value = row.call;
}

function back() {
  const detail = document.getElementById("call");
  if (detail?.contains(document.activeElement)) document.getElementById("calls")?.focus();
  else if (openCall() !== null) go(["calls"]);
}

const Rows = ({ rows }) =>
  html`<div class="columns calls-columns" aria-hidden="true"><span># status</span><span>asked</span>
    <span class="answered">answered</span><span class="from">by</span><span class="took">took, tokens</span></div>
  <${List} id="calls" label="Calls, oldest first" items=${rows} height=${HEIGHT} active=${index()} columns=${5}
    follow=${following()} onEnd=${(is) => (state.follow.value = is)} onActive=${move} onFirst=${oldest}
    onOpen=${open} onView=${later} render=${Row} />`;

let [timer, due] = [0, 0];
function later(rows) {
  clearTimeout(timer);
  timer = setTimeout(() => ((due = Date.now() + 500), digest(rows)), Math.max(60, due - Date.now()));
}

function Row(row) {
  const from = source(row.source);
  const streamed = row.streamed && (row.websocket ? "websocket" : "stream");
  const meta = [row.model, row.operation ?? `${row.method} ${row.path}`, row.part_of, streamed];
  const usage = tokens(row.usage);
  return html`<div class=${`cell status ${kind(row)}`} role="gridcell"><span class="number">${row.call}</span>
      <b>${row.status ?? "…"}</b></div>
    <div class="cell said" role="gridcell"><div class="one">${bdi(said(row))}</div>
      <div class="two">${bdi(meta.filter(Boolean).join(" · "))}${tries(row)}${
        row.namespace !== "default" && html` · ${bdi(row.namespace, "ns")}`}<span class="by"> · ${
        unmatched(row) ? html`<span class="flag">unmatched</span>` : bdi(from.name)}</span></div></div>
    <div class="cell answered" role="gridcell"><div class="one">${bdi(row.answered)}</div></div>
    <div class="cell from" role="gridcell"><div class="one">${unmatched(row) && html`<span class="flag">unmatched</span> `}${
      row.defect && html`<span class="flag">failed</span> `}${
      row.source !== "unmatched" && html`${bdi(from.name)}`}</div><div class="two">${broke(row) && html`<span class="ended">${
      visible(row.ended)}</span>`}${bdi(notes(row) || (broke(row) ? "" : from.place))}</div></div>
    <div class="cell took" role="gridcell"><div class="one">${
      isOpen(row) ? html`<span class="pulse">open</span>` : ms(row.elapsed_ms)}</div>
      <div class="two">${isOpen(row) && row.bytes ? bytes(row.bytes) : usage}</div></div>`;
}

const said = (row) => row.said || (row.path ? `${row.method} ${row.path}` : "said" in row ? "no text" : "…");
function tries({ attempt, retry_of: first }) {
  const again = first && state.row(first) && !failed(state.row(first)); // nothing to retry
  return attempt > 1 && html` · <span class="tries">${again ? "same as" : `try ${attempt}${first ? " of" : ""}`}${
    first && ` #${first}`}</span>`;
}

function notes(row) {
  const changes = (row.modified_by ?? []).map((each) => `changed by ${source(each).name}`);
  const all = [...changes, ...(row.faults ?? []), row.recorded && "recorded", row.again_of && `#${row.again_of} again`];
  return all.filter(Boolean).map((each) => ` · ${each}`).join("").slice(broke(row) ? 0 : 3);
}

const CHIPS = [
  ["unmatched", unmatched],
  ["failed", failed],
  ["open", isOpen],
];

function Filter() {
  state.version.value;
  const q = route.value.params.get("q") ?? "";
  const { terms, mistake } = state.query.value;
  const timer = useRef(0);
  const all = state.everything();
  const typed = (event) => {
    const { value } = event.target;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setFilter(value), 120);
  };
  return html`<search class="filter"><input id="filter" type="search" aria-label="Filter calls" spellcheck=${false}
      autocomplete="off" placeholder='Filter: words, status:5xx, rule:name, -unmatched' value=${q} onInput=${typed}
      aria-describedby="unknown" onKeyDown=${(event) => event.key === "Enter" && document.getElementById("calls")?.focus()} />
    ${CHIPS.map(([word, test]) => {
      const found = all.reduce((sum, row) => sum + (test(row) ? 1 : 0), 0);
      return html`<button key=${word} class="chip" aria-pressed=${terms.some((term) => term.word === word)}
        onClick=${() => setFilter(toggled(q, word))}>${word} <b>${count(found)}</b></button>`;
    })}
    ${state.services.value > 0 && html`<button class="chip" aria-pressed=${terms.some((term) => term.word === "service")}
      title="What programs asked for themselves" onClick=${() => setFilter(toggled(q, "service"))}>service <b>${
        count(state.services.value)}</b></button>`}
    <button class="chip" aria-pressed=${following()} title="Keep the newest call in view (f)" onClick=${follow}>follow</button>
    <${Action} label="Clear" confirm="Delete all calls?" title="Delete the calls of the journal" run=${async () => {
      await remove("calls", { namespace: state.namespace.value || "*" });
      state.forget(Infinity, state.namespace.value);
      go(["calls"]);
    }} />
    <p id="unknown" class=${mistake ? "unknown" : "hidden"} role="status">${visible(mistake)}</p></search>`;
}

function Sums({ rows }) {
  const used = rows.reduce(([sent, got], row) =>
    [sent + (row.usage?.prompt_tokens ?? 0), got + (row.usage?.completion_tokens ?? 0)], [0, 0]);
  const missed = rows.filter(unmatched).length;
  return html`<footer class="sums"><span>${plural(rows.length, "call")}${
    rows.length < state.total.value && ` of ${count(state.total.value)}`}</span>
    <span>${count(used[0])}→${count(used[1])} tokens</span>${missed > 0 && html`<span>${count(missed)} unmatched</span>`}
    ${searching(state.query.value.terms) ? html`<span>searching…</span>` : !state.complete.value && state.total.value > 0
      && html`<span>loading older calls…</span>`}</footer>`;
}

function Nothing() {
  const { terms } = state.query.value;
  if (searching(terms)) return html`<div class="nothing"><p>Searching…</p></div>`;
  if (state.total.value && (terms.length || state.namespace.value)) {
    return html`<div class="nothing"><h2>No call fits</h2><ul>${terms.map((term) => {
      const rest = terms.filter((each) => each !== term).map((each) => each.word).join(" ");
      const alone = state.everything().filter((row) => fits(row, [term], setsFor(terms))).length;
      return html`<li key=${term.word}><code>${visible(term.word)}</code> ${plural(alone, "call")} <button
        onClick=${() => setFilter(rest)}>drop</button></li>`;
    })}</ul><a href=${address(["calls"], { q: "", ns: "" })}>Show all ${plural(state.total.value, "call")}</a></div>`;
  }
  if (!state.complete.value) return html`<div class="nothing"><p>Loading…</p></div>`;
  const base = `${location.origin}/openai/v1`;
  const body = `{"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}`;
  return html`<div class="nothing"><h2>No call yet</h2><p>Point your client at this server:</p>
    <${Copyable} text=${`export OPENAI_BASE_URL=${base}\nexport OPENAI_API_KEY=any`} /><p>Or try it:</p>
    <${Copyable} text=${`curl ${base}/chat/completions --json '${body}'`} /></div>`;
}
