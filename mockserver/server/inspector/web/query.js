// The filter: words are ANDed, `-` negates, `key:value` compares a summary, other words search texts on the server.
import { signal } from "@preact/signals";

import { get } from "./api.js";

const number = (value) => {
  const found = /^(>=|<=|>|<)?(\d+(?:\.\d+)?)$/.exec(value);
  if (!found) return null;
  const [, sign, size] = found;
  const tests = { ">": (n) => n > size, "<": (n) => n < size, ">=": (n) => n >= size, "<=": (n) => n <= size };
  return tests[sign] ?? ((n) => n === Number(size));
};
const compare = (value, actual) => (actual === null || actual === undefined ? false : number(value)?.(actual) ?? false);
const includes = (part, whole) => (whole ?? "").toLowerCase().includes(part.toLowerCase());
const ruleOf = (row) => [row.source, ...(row.bent_by ?? [])].filter((each) => each?.startsWith("rule "));

export const unmatched = (row) => Boolean(row.unmatched);
export const isOpen = (row) => row.ended === "open";
export const failed = (row) => row.status >= 400 || !["complete", "open"].includes(row.ended);

const KEYS = new Map([
  ["model", (row, value) => includes(value, row.model)],
  ["op", (row, value) => includes(value, row.operation)],
  ["dialect", (row, value) => includes(value, row.dialect)],
  ["ns", (row, value) => row.namespace === value],
  ["status", (row, value) => (/^\dxx$/.test(value) ? String(row.status)[0] === value[0] : compare(value, row.status))],
  ["source", (row, value) => includes(value, row.source)],
  ["rule", (row, value) => ruleOf(row).some((each) => includes(value, each.slice(5)))],
  ["ended", (row, value) => includes(value, row.ended)],
  ["attempt", (row, value) => compare(value, row.attempt ?? 1)],
  ["ms", (row, value) => compare(value, row.elapsed_ms)],
  ["tokens", (row, value) => compare(value, (row.usage?.prompt_tokens ?? 0) + (row.usage?.completion_tokens ?? 0))],
]);
const FLAGS = new Map([
  ["unmatched", unmatched],
  ["failed", failed],
  ["open", isOpen],
  ["streamed", (row) => Boolean(row.streamed)],
  ["bent", (row) => Boolean(row.bent_by?.length || row.faults?.length)],
]);
const ASKED = new Map([
  ["text", (value) => get("calls", { namespace: "*", compact: true, contains: value }).then(numbersOf)],
  ["conv", (value) => get(`calls/${value}`).then((call) => new Set(call.chain?.conversation ?? [Number(value)]))],
]);
const numbersOf = (answer) => new Set(answer.calls.map((row) => row.call));

export const known = [...KEYS.keys(), "conv", ...FLAGS.keys()];

/** Return {terms, unknown}: what the words of a filter ask, and the first key that is none. */
export function parsed(text) {
  const terms = [];
  let unknown = "";
  for (const [word, sign, key, quoted, plain] of text.matchAll(/(-)?(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/g)) {
    const value = quoted ?? plain;
    const name = key ?? (quoted === undefined && FLAGS.has(value) ? value : "text");
    if (key && !KEYS.has(key) && !ASKED.has(key)) unknown ||= key;
    else if (value) terms.push({ word, negate: Boolean(sign), name, value });
  }
  return { terms, unknown };
}

const answers = new Map(); // sets of numbers that the server found, by term
export const arrived = signal(0); // grows with each such answer

const keyOf = (term) => `${term.name}:${term.value}`;

/** Return what the server found for the terms that ask it, asking where it was not asked yet. */
export function setsFor(terms) {
  arrived.value;
  for (const term of terms) {
    if (ASKED.has(term.name) && !answers.has(keyOf(term))) {
      answers.set(keyOf(term), new Set());
      search(term);
    }
  }
  return answers;
}

function search(term) {
  ASKED.get(term.name)(term.value).then(
    (found) => {
      answers.set(keyOf(term), found);
      arrived.value++;
    },
    () => answers.delete(keyOf(term)),
  );
}

/** Ask again what the current filter finds, as there are new calls. */
export function searchAgain(terms) {
  terms.filter((term) => ASKED.has(term.name)).forEach(search);
  for (const key of [...answers.keys()]) {
    if (!terms.some((term) => keyOf(term) === key)) answers.delete(key);
  }
}

export function fits(row, terms, sets) {
  return terms.every((term) => {
    const { name, value, negate } = term;
    const held = ASKED.has(name)
      ? sets.get(keyOf(term))?.has(row.call)
      : FLAGS.has(name)
        ? FLAGS.get(name)(row)
        : KEYS.get(name)(row, value);
    return Boolean(held) !== negate;
  });
}

/** Add a word to a filter, or remove it if it is there. */
export function toggled(text, word) {
  const words = parsed(text).terms.map((term) => term.word);
  return (words.includes(word) ? words.filter((each) => each !== word) : [...words, word]).join(" ");
}
