// One call: head, chain, actions and tabs.
import { useEffect } from "preact/hooks";

import { get, post, text } from "./api.js";
import { Conversation } from "./conversation.js";
import { bind } from "./keys.js";
import { Action, CallLink, Wrong, bdi, copy, count, html, ms, source, tokens, useLoaded } from "./parts.js";
import { broke, kind, unmatched } from "./query.js";
import { Raw } from "./raw.js";
import * as state from "./state.js";
import { Stream } from "./stream.js";
import { address, go, openCall, route } from "./url.js";
import { Why } from "./why.js";

const TABS = [
  ["conversation", "Conversation", Conversation],
  ["why", "Why", Why],
  ["stream", "Stream", Stream],
  ["raw", "Raw", Raw],
];

function useCall(number) {
  const row = state.row(number);
  state.version.value;
  const grown = `${row?.bytes ?? ""} ${row?.frames ?? ""}`;
  const pause = row?.bytes > 200_000 ? 2000 : 500;
  const loaded = useLoaded((stop) => get(`calls/${number}`, {}, stop), [number, row?.ended], { grown, pause });
  return loaded.data?.call === number ? loaded : { error: loaded.keys?.[0] === number ? loaded.error : null };
}

async function copyAs(number, form) {
  copy(await text(`calls/${number}/as`, { form }), `call ${number} as ${form}`);
}

async function again(number, forward = false) {
  const sent = await post(`calls/${number}/again`, { forward });
  state.say(`Sent again as #${sent.call}: ${sent.status}, ${sent.source}.`);
  go(["calls", sent.call]);
}

const said = (refused) => state.say(refused.message);

function compareWith(number) {
  if (state.marked.value && state.marked.value !== number) {
    go(["compare", state.marked.value, number]);
    state.marked.value = null;
  } else {
    state.marked.value = number;
    state.say(`#${number} is marked: press c on another call to compare them.`);
  }
}

export function Call({ number }) {
  const { data, error } = useCall(number);
  const wanted = route.value.items[1] ?? "conversation";
  const tabs = TABS.filter(([name]) => name !== "stream" || !data || data.reply?.frames);
  const [tab, , View] = tabs.find(([name]) => name === wanted) ?? tabs[0];
  const choose = (name) => go(["calls", number, name], {}, { replace: true });
  const chain = data?.chain?.conversation ?? [];
  const along = (step) => {
    const next = chain[chain.indexOf(number) + step];
    if (next !== undefined) state.show(next);
  };
  useEffect(() => {
    const there = (name) => tabs.some(([each]) => each === name);
    return bind({
      ...Object.fromEntries(TABS.map(([name], at) => [at + 1, () => there(name) && choose(name)])),
      "[": () => along(-1),
      "]": () => along(1),
      c: () => compareWith(openCall()),
      e: () => go(["draft"], { from: openCall() }),
      r: () => again(openCall()).catch(said),
      y: () => copyAs(openCall(), "curl").catch(said),
    });
  }, [number, data]);
  const loaded = data && html`<${Chains} data=${data} /><${Tabs} tabs=${tabs} tab=${tab} choose=${choose} data=${data} />
    <div class=${`panel ${tab}`} role="tabpanel" id="panel" tabindex="0" aria-labelledby=${`tab-${tab}`}
      key=${`${tab}${number}`}><${View} call=${data} /></div>`;
  return html`<article class="call-pane" id="call" tabindex="-1" aria-label=${`Call ${number}`}>
    <${Head} number=${number} data=${data} />
    <${Wrong} error=${error} />${error?.status === 404 && html`<p class="aside">Settings: journal_calls, journal_bytes</p>`}
    ${loaded || (!error && html`<p class="loading">Loading…</p>`)}</article>`;
}

const Tabs = ({ tabs, tab, choose, data }) =>
  html`<div class="tabs" role="tablist" aria-label="What to show"
    onKeyDown=${(event) => arrows(event, tabs, tab, choose)}>${tabs.map(
    ([name, title]) => html`<button key=${name} role="tab" id=${`tab-${name}`} aria-selected=${name === tab}
      aria-controls="panel" tabindex=${name === tab ? 0 : -1} onClick=${() => choose(name)}>${title}${
        name === "stream" && html` <span class="count">${count(data.reply.frames.length)}</span>`}</button>`,
  )}</div>`;

function arrows(event, tabs, tab, choose) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const names = tabs.map(([name]) => name);
  const next = names[(names.indexOf(tab) + step + names.length) % names.length];
  choose(next);
  event.currentTarget.querySelector(`#tab-${next}`).focus();
  event.preventDefault();
}

const Close = () => html`<a class="close" href=${address(["calls"])} aria-label="Close the call" title="Esc">✕</a>`;

function Head({ number, data }) {
  const row = { ...state.row(number), ...data };
  const from = source(row.source);
  const times = [row.first_byte_ms && `first byte ${ms(row.first_byte_ms)}`, row.elapsed_ms && ms(row.elapsed_ms)];
  const facts = [row.dialect, row.operation, row.model, row.part_of].filter(Boolean).join(" · ")
    || `${row.method ?? ""} ${row.path ?? ""}`;
  if (!row.ended) return html`<header class="head"><${Close} /><h2>#${number}</h2></header>`;
  return html`<header class="head"><${Close} /><h2>#${number} <span class=${`status ${kind(row)}`}><b>${
      row.status ?? "…"}</b></span></h2>
    <p class="what">${unmatched(row) && html`<span class="flag">unmatched</span> `}${row.defect
      && html`<span class="flag">failed</span> `}${from.name !== "unmatched" && html`<b>${
      bdi(from.name)}</b>`} ${bdi(from.place, "place")}</p>
    <p class="facts">${bdi(facts)}${row.usage && ` · ${tokens(row.usage)} tokens`}${times.filter(Boolean).map(
      (time) => ` · ${time}`,
    )} · ${row.ended !== "complete" && html`<span class=${broke(row) ? "ended" : ""}>${bdi(row.ended)}</span> · `}${
      new Date(row.at).toLocaleTimeString()}${
      row.again_of && html` · <${CallLink} number=${row.again_of} /> again`}</p>
    <${Actions} number=${number} /></header>`;
}

const FORMS = ["curl", "pytest", "rule", "request"];

function Actions({ number }) {
  const other = state.marked.value;
  return html`<div class="actions"><span class="copies" role="group" aria-label="Copy as">Copy ${FORMS.map(
      (form) => html`<${Action} key=${form} label=${form} title=${`Copy as ${form}`} run=${() => copyAs(number, form)} />`,
    )}</span>
    <a class="button" href=${address(["draft"], { from: number })} title="e">Draft a rule</a>
    <${Action} label="Send again" title="Send the request again (r)" run=${() => sendAgain(number)} />
    <button aria-pressed=${other === number} title="Compare with another call (c)" onClick=${() => compareWith(number)}>${
      other && other !== number ? `Compare with #${other}` : "Compare"}</button></div>`;
}

/** What would go upstream is sent only at a second press. */
const upstream = new Set();
async function sendAgain(number) {
  try {
    await again(number, upstream.delete(number));
  } catch (refused) {
    if (refused.status === 409) {
      upstream.add(number);
      refused.message += ". Press again to send it upstream.";
    }
    throw refused;
  }
}

function Chains({ data }) {
  const { conversation = [], tries = [] } = data.chain ?? {};
  if (conversation.length < 2 && tries.length < 2) return null;
  return html`<div class="chains"><${Chain} name="Conversation" numbers=${conversation} here=${data.call} />
    <${Chain} name="Tries" numbers=${tries} here=${data.call} /></div>`;
}

function Chain({ name, numbers, here }) {
  if (numbers.length < 2) return null;
  const at = numbers.indexOf(here);
  const near = numbers.slice(Math.max(0, at - 6), at + 7);
  return html`<nav aria-label=${name}><b>${name}</b>${near[0] !== numbers[0] && " …"}${near.map(
    (number) => html` <span key=${number} class=${number === here ? "here" : ""}><${CallLink} number=${number} />${
      name === "Tries" && html` <small>${state.row(number)?.status}</small>`}</span>`,
  )}${near.at(-1) !== numbers.at(-1) && " …"}</nav>`;
}
