// Addresses: everything that the page shows is named by its fragment, which reaches no server and no log.
import { signal } from "@preact/signals";

const VIEWS = ["calls", "compare", "rules", "draft", "cassette", "server"];

/** Return {view, items, params} of a fragment such as `#/calls/7/why?q=failed`. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view, ...items] = path.split("/").map(decoded);
  return { view: VIEWS.includes(view) ? view : "calls", items, params: new URLSearchParams(query) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Return the fragment of a view; `params` change those that stay (the filter and the namespace). */
export function address(items, params = {}) {
  const kept = new URLSearchParams();
  for (const name of ["q", "ns"]) {
    const value = name in params ? params[name] : route.value.params.get(name);
    if (value) kept.set(name, value);
  }
  for (const [name, value] of Object.entries(params)) {
    if (!["q", "ns"].includes(name) && value) kept.set(name, value);
  }
  const query = kept.toString();
  return `#/${items.map((item) => encodeURIComponent(item)).join("/")}${query ? `?${query}` : ""}`;
}

/** Go to an address; `replace` within a view, so that Back leaves the view. */
export function go(items, params, { replace = false } = {}) {
  const target = address(items, params);
  if (target === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", target);
  route.value = parse(location.hash);
}

export const route = signal(parse(location.hash));
addEventListener("popstate", () => (route.value = parse(location.hash)));
addEventListener("hashchange", () => (route.value = parse(location.hash)));

export const openCall = () => {
  const { view, items } = route.value;
  return view === "calls" && /^\d+$/.test(items[0] ?? "") ? Number(items[0]) : null;
};
