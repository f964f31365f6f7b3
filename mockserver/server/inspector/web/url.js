// The fragment names all that the page shows; it reaches no server and no log.
import { signal } from "@preact/signals";

const VIEWS = ["calls", "compare", "rules", "draft", "cassette", "server"];

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

/** The fragment of a view; filter and namespace stay if `params` do not change them. */
export function address(items, params = {}) {
  const [q, ns] = ["q", "ns"].map((name) => route.value.params.get(name));
  const query = new URLSearchParams(Object.entries({ q, ns, ...params }).filter(([, value]) => value)).toString();
  return `#/${items.map((item) => encodeURIComponent(item)).join("/")}${query ? `?${query}` : ""}`;
}

/** `replace` within a view, so that Back leaves the view. */
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
