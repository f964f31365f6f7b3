// Parts that all views share. What a client or upstream said becomes a text node in a <bdi>, never markup.
import htm from "htm";
import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { RefusedError } from "./api.js";
import { say } from "./state.js";
import { address } from "./url.js";

export const html = htm.bind(h);

const HIDDEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u3164\uffa0]|\p{Cf}|\p{Cs}|[\u2028\u2029]/gu;
const escaped = (sign) => `\\u${sign.codePointAt(0).toString(16).padStart(4, "0")}`;

export const visible = (text) => String(text).replace(HIDDEN, escaped);

export const bdi = (text, name) => h("bdi", { class: name }, visible(text ?? ""));

export const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value ?? null));

/** A value, with the characters marked that differ. */
export function marked(value, span) {
  if (!span) return bdi(shown(value));
  const [signs, end] = [[...value], span.at + Math.max(1, span.size)];
  const part = (...ends) => signs.slice(...ends).join("");
  return html`${bdi(part(0, span.at))}<mark>${bdi(part(span.at, end) || " ")}</mark>${bdi(part(end))}`;
}

const [SHORT, MORE] = [4000, 40000];

/** A text in pieces, as browsers are slow with very long ones. */
export function Text({ value, limit = SHORT }) {
  const [length, setLength] = useState(limit);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length <= length) return html`<${Pieces} text=${text} />`;
  const left = text.length - length;
  return html`<${Pieces} text=${text.slice(0, length)} /><button class="more" onClick=${() => setLength(length + MORE)}>
    ${left > MORE ? `${count(MORE)} of ${count(left)}` : count(left)} more characters</button>`;
}

function Pieces({ text }) {
  if (text.length <= SHORT) return html`${bdi(text)}`;
  const pieces = [];
  for (let at = 0; at < text.length; at += SHORT) pieces.push(text.slice(at, at + SHORT));
  return pieces.map((piece, at) => html`<bdi class="piece" key=${at}>${visible(piece)}</bdi>`);
}

const [DEPTH, DEEPEST, ENTRIES] = [3, 100, 100];

/** JSON as a tree; deeper than 3 it is folded, deeper than 100 it is text. */
export function Json({ value, depth = 0 }) {
  const [open, setOpen] = useState(depth < DEPTH);
  const [most, setMost] = useState(ENTRIES);
  if (value === null || typeof value !== "object") return html`<${Scalar} value=${value} />`;
  const entries = Array.isArray(value) ? value.map((each) => [null, each]) : Object.entries(value);
  const [left, right] = Array.isArray(value) ? "[]" : "{}";
  if (!entries.length) return `${left}${right}`;
  if (depth > DEEPEST) return html`<${Text} value=${JSON.stringify(value)} />`;
  if (!open) {
    return html`<button class="fold" aria-expanded="false" onClick=${() => setOpen(true)}
      >${left} ${entries.length} ${right}</button>`;
  }
  return html`${left}<div class="tree">${entries.slice(0, most).map(
    ([name, each], at) => html`<div key=${at}>${name !== null && html`${bdi(JSON.stringify(name), "key")}: `
      }<${Json} value=${each} depth=${depth + 1} />${at < entries.length - 1 && ","}</div>`,
  )}${entries.length > most && html`<button class="more" onClick=${() => setMost(most * 10)}>
    ${count(entries.length - most)} more</button>`}</div>${right}`;
}

export const json = (value, depth = 0) => html`<div class="json"><${Json} value=${value} depth=${depth} /></div>`;

const Scalar = ({ value }) =>
  typeof value === "string"
    ? html`<span class="string"><${Text} value=${JSON.stringify(value)} /></span>`
    : html`<span class="number">${String(value)}</span>`;

/** The object or list in a text; undefined also if it is too deep to be written again. */
export function jsonIn(text) {
  try {
    const found = JSON.parse(text);
    return found !== null && typeof found === "object" && JSON.stringify(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

export const count = (number) => number.toLocaleString("en");
export const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

export function ms(value) {
  if (value === null || value === undefined) return "";
  if (value < 10) return `${value.toFixed(1)} ms`;
  return value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(value < 10_000 ? 2 : 1)} s`;
}

export function bytes(size) {
  if (size < 1000) return `${size} B`;
  return size < 1e6 ? `${(size / 1e3).toFixed(1)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}
export const tokens = (usage) => (usage ? `${count(usage.prompt_tokens)}→${count(usage.completion_tokens)}` : "");

export function source(text) {
  const [, place, name] = /^rule (\S+:\d+|api) ?(.*)$/.exec(text ?? "") ?? [];
  if (place) return { kind: "rule", name: name || place, place: name ? place : "" };
  return { kind: (text ?? "").split(/[ ,]/)[0], name: text ?? "", place: "" };
}

export const CallLink = ({ number, tab, words = `#${number}` }) =>
  html`<a class="call" href=${address(tab ? ["calls", number, tab] : ["calls", number])}>${words}</a>`;

export const Wrong = ({ error }) =>
  error && html`<p class="wrong" role="alert">${bdi(error.message)}</p>`;

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${what}.`);
  } catch {
    const field = document.createElement("textarea");
    Object.assign(field, { value: text, readOnly: true, className: "copying", rows: 6 });
    field.setAttribute("aria-label", `${what}, to copy`);
    field.addEventListener("blur", () => field.remove());
    document.body.append(field);
    field.select();
    say("No clipboard here: copy the marked text.");
  }
}

export function Copyable({ text }) {
  return html`<div class="copyable"><pre>${text}</pre><button onClick=${() => copy(text, "the text")}>Copy</button></div>`;
}

/**
 * Load at once when the keys change, and drop what comes too late. When only `grown` changes, load again `pause`
 * milliseconds after the last answer: what changes all the time is neither waited for until it stops, nor cut off.
 */
export function useLoaded(load, keys, { grown, pause = 500 } = {}) {
  const [state, setState] = useState({});
  const [round, again] = useState(0);
  const wanted = useRef();
  const refresh = useRef();
  wanted.current = { load, grown, pause };
  useEffect(() => {
    const stop = new AbortController();
    let [timer, resting, loaded] = [0, false];
    const run = async () => {
      resting = false;
      loaded = wanted.current.grown;
      try {
        const data = await wanted.current.load(stop.signal);
        if (!stop.signal.aborted) setState({ data, keys });
      } catch (error) {
        if (!stop.signal.aborted) setState((old) => ({ ...old, error, keys }));
      }
      if (!stop.signal.aborted) timer = setTimeout(rest, wanted.current.pause);
    };
    const rest = () => {
      resting = true;
      refresh.current();
    };
    refresh.current = () => resting && wanted.current.grown !== loaded && run();
    run();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [...keys, round]);
  useEffect(() => refresh.current(), [grown]);
  return { ...state, again: () => again((old) => old + 1) };
}

/** A button whose action the server may refuse. */
export function Action({ label, run, title, className = "", confirm }) {
  const [error, setError] = useState(null);
  const [sure, setSure] = useState(!confirm);
  const busy = useRef(false);
  const press = async () => {
    if (!sure) return setSure(true);
    if (busy.current) return;
    busy.current = true;
    setError(null);
    try {
      await run();
    } catch (found) {
      if (!(found instanceof RefusedError)) throw found;
      setError(found);
    } finally {
      busy.current = false;
      setSure(!confirm);
    }
  };
  return html`<span class="action"><button class=${`${className} ${sure && confirm ? "sure" : ""}`} title=${title}
    onClick=${press} onBlur=${() => setSure(!confirm)}>${sure && confirm ? confirm : label}</button>
    <${Wrong} error=${error} /></span>`;
}
