// The keyboard. Keys act outside of fields; those with Ctrl, Alt or Meta are the browser's.
import { signal } from "@preact/signals";

import { html } from "./parts.js";
import { known } from "./query.js";

export const helping = signal(false);
const bound = new Map();

export function bind(actions) {
  const entries = Object.entries(actions);
  for (const [key, action] of entries) bound.set(key, action);
  return () => entries.forEach(([key, action]) => bound.get(key) === action && bound.delete(key));
}

const FIELDS = "input, textarea, select, [contenteditable]";

export function start() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (event.key === "Escape" && helping.value) helping.value = false;
    else if (event.target.closest(FIELDS)) {
      if (event.key === "Escape") event.target.blur();
      return;
    } else if (event.key === "?") helping.value = !helping.value;
    else if (event.key === "Enter" && event.target.closest("button, a, summary")) return;
    else if (bound.has(event.key)) bound.get(event.key)(event);
    else return;
    event.preventDefault();
  });
}

const TABLE = [
  ["/", "filter the calls"],
  ["j k ↓ ↑", "next and previous call"],
  ["g G", "oldest and newest call"],
  ["Enter", "into the call"],
  ["Esc", "back"],
  ["1 2 3 4", "Conversation, Why, Stream, Raw"],
  ["[ ]", "along the conversation"],
  ["e", "draft a rule from the call"],
  ["r", "send the call again"],
  ["y", "copy the call as curl"],
  ["c", "mark for a comparison, compare with the marked one"],
  ["f", "follow the newest call"],
  ["?", "this list"],
];

export const Help = () =>
  helping.value && html`<section class="help" aria-label="Keys"><h2>Keys</h2>
    <dl>${TABLE.map(
      ([keys, words]) => html`<dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${words}</dd>`,
    )}</dl>
    <p>Filters: words, <code>"two words"</code>, <code>${known}</code>, as in <code>status:5xx ms:>500</code>. <code>-</code>
    in front of one excludes it.</p>
    <button onClick=${() => (helping.value = false)}>Close</button></section>`;
