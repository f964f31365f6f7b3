// What the page knows.
import { batch, computed, effect, signal } from "@preact/signals";

import { fits, parsed, searching, setsFor } from "./query.js";
import { go, openCall, route } from "./url.js";

const rows = new Map();
const USUAL = { namespace: "default", method: "POST", attempt: 1, ended: "complete" }; // what compact rows leave out
let numbers = []; // ascending

export const version = signal(0);
export const connection = signal("connecting"); // live, paused (hidden tab), lost, busy (too many feeds)
export const complete = signal(false); // the oldest kept call is here
export const ready = signal(null);
export const rules = signal();
export const rulesChanged = signal(0);
export const problem = signal(null);
export const notice = signal("");
export const follow = signal(true);
export const active = signal(null);
export const marked = signal(null);
export const theme = signal(localStorage.getItem("mockserver-theme") ?? "");

export function add(list) {
  if (!list.length) return;
  let sorted = true;
  for (const row of list) {
    const known = rows.get(row.call);
    if (!known) {
      sorted = sorted && row.call > (numbers.at(-1) ?? 0);
      numbers.push(row.call);
    }
    const { said, answered, tools, conversation } = known ?? {};
    const digest = said === undefined ? {} : { said, answered, tools, conversation };
    rows.set(row.call, { ...USUAL, ...digest, ...row });
  }
  if (!sorted) numbers.sort((one, other) => one - other);
  version.value++;
}

export function forget(before, namespace) {
  numbers = numbers.filter((number) => {
    const gone = number < before && (!namespace || rows.get(number).namespace === namespace);
    if (gone) rows.delete(number);
    return !gone;
  });
  version.value++;
}

export function clear() {
  rows.clear();
  numbers = [];
  batch(() => {
    version.value++;
    complete.value = false;
    active.value = null;
  });
}

export function show(number) {
  const { items } = route.value;
  const path = items[1] ? ["calls", number, items[1]] : ["calls", number];
  active.value = number;
  go(path, {}, { replace: openCall() !== null });
}

export const row = (number) => rows.get(number);
export const last = () => numbers.at(-1) ?? 0;
export const first = () => numbers[0];
export const openNumbers = () => numbers.filter((number) => rows.get(number).ended === "open");

export const query = computed(() => parsed(route.value.params.get("q") ?? ""));
export const namespace = computed(() => route.value.params.get("ns") ?? "");
export const namespaces = computed(() => {
  version.value;
  const found = new Set(["default"]);
  for (const each of rows.values()) found.add(each.namespace);
  return [...found];
});

let found = []; // shown while the server searches

export const shown = computed(() => {
  version.value;
  const { terms } = query.value;
  const [wanted, sets] = [namespace.value, setsFor(terms)];
  if (searching(terms)) return found;
  const fitting = (each) => (!wanted || each.namespace === wanted) && fits(each, terms, sets);
  return (found = wanted || terms.length ? everything().filter(fitting) : everything());
});

const all = () => numbers.map((number) => rows.get(number));
/** The calls that count; those that service rules answered only if the filter names them. */
export const everything = () =>
  query.value.terms.some((term) => term.name === "service") ? all() : all().filter((row) => !row.service);
export const total = computed(() => (version.value, everything().length));
export const services = computed(() => (version.value, all().filter((row) => row.service).length));

let timer = 0;

export function say(text) {
  notice.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => (notice.value = ""), 5000);
}

effect(() => {
  document.documentElement.style.colorScheme = theme.value || "light dark";
  if (theme.value) localStorage.setItem("mockserver-theme", theme.value);
  else localStorage.removeItem("mockserver-theme");
});
