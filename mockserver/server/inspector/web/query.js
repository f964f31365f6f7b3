// The filter: `key:value` compares a summary, other words search texts on the server.
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
const ruleOf = (row) => [row.source, ...(row.modified_by ?? [])].filter((each) => each?.startsWith("rule "));

export const unmatched = (row) => Boolean(row.unmatched);
export const isOpen = (row) => row.ended === "open";
export const broke = (row) => !["complete", "open"].includes(row.ended);
export const failed = (row) => row.status >= 400 || broke(row);
export const kind = (row) => (isOpen(row) ? "is-open" : failed(row) ? "is-failed" : unmatched(row) ? "is-unmatched" : "");

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
const NUMBERS = ["status", "attempt", "ms", "tokens"];
const FLAGS = new Map([
  ["unmatched", unmatched],
  ["failed", failed],
  ["defect", (row) => Boolean(row.defect)],
  ["open", isOpen],
  ["service", (row) => Boolean(row.service)],
  ["streamed", (row) => Boolean(row.streamed)],
  ["changed", (row) => Boolean(row.modified_by?.length || row.faults?.length)],
]);
const ASKED = new Map([
  ["text", (value) => numbersOf({ contains: value })],
  ["tool", (value) => numbersOf({ contains: value, digest: true }, (row) => row.tools.some((name) => includes(value, name)))],
  ["conv", (value) => get(`calls/${value}`).then((call) => new Set(call.chain?.conversation ?? [Number(value)]))],
]);
const numbersOf = async (params, test = () => true) => {
  const { calls } = await get("calls", { namespace: "*", compact: true, service: true, ...params });
  return new Set(calls.filter(test).map((row) => row.call));
};

export const known = [...KEYS.keys(), "tool", "conv"].map((key) => `${key}:`).concat(...FLAGS.keys()).join(" ");

/** The terms of a filter, and its first mistake. */
export function parsed(text) {
  const terms = [];
  let mistake = "";
  for (const [word, sign, key, quoted, plain] of text.matchAll(/(-)?(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/g)) {
    const value = quoted ?? plain;
    const name = key ?? (quoted === undefined && FLAGS.has(value) ? value : "text");
    if (key && !KEYS.has(key) && !ASKED.has(key)) mistake ||= `There is no key "${key}". Keys: ${known}`;
    else if (value) terms.push({ word, negate: Boolean(sign), name, value });
    if (NUMBERS.includes(key) && !/^\dxx$/.test(value) && !number(value)) mistake ||= `"${word}" needs a number, as in ms:>500`;
  }
  return { terms, mistake };
}

const answers = new Map(); // by term: numbers of calls; undefined until they came
const arrived = signal(0);

const keyOf = (term) => `${term.name}:${term.value}`;

export function setsFor(terms) {
  arrived.value;
  for (const term of terms) {
    if (ASKED.has(term.name) && !answers.has(keyOf(term))) {
      answers.set(keyOf(term));
      search(term);
    }
  }
  return answers;
}

export const searching = (terms) => terms.some((term) => ASKED.has(term.name) && !setsFor(terms).get(keyOf(term)));

async function search(term) {
  answers.set(keyOf(term), await ASKED.get(term.name)(term.value).catch(() => new Set()));
  arrived.value++;
}

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

export function toggled(text, word) {
  const words = parsed(text).terms.map((term) => term.word);
  return (words.includes(word) ? words.filter((each) => each !== word) : [...words, word]).join(" ");
}
