// Two calls side by side: what differs in what was asked, and in what was answered.
import { post } from "./api.js";
import { CallLink, Wrong, bdi, html, ms, plural, useLoaded, visible } from "./parts.js";
import { address, route } from "./url.js";

const PARTS = [
  ["head", "Head"],
  ["request", "Request"],
  ["answer", "Answer"],
];

export function Compare() {
  const numbers = route.value.items.slice(0, 2).map(Number);
  const { data, error } = useLoaded((stop) => post("compare", { calls: numbers }, {}, stop), numbers);
  const found = PARTS.map(([key, title]) => [title, data?.[key] ?? []]);
  const total = found.reduce((sum, [, list]) => sum + list.length, 0);
  return html`<div class="compare-view"><header class="title"><h2><${CallLink} number=${numbers[0]} /> ↔ <${CallLink} number=${numbers[1]} /></h2>
      <p>${data && (total ? plural(total, "difference") : "No difference")}</p>
      <a class="button" href=${address(["compare", numbers[1], numbers[0]])}>Swap</a></header>
    <${Wrong} error=${error} />
    ${data && html`<table class="compare"><thead><tr><th scope="col">where</th><th scope="col">#${numbers[0]}</th><th scope="col">#${numbers[1]}</th></tr></thead>${found.map(
      ([title, list]) => list.length > 0 && html`<tbody key=${title}><tr><th scope="rowgroup" colspan="3">${title}</th></tr>${list.map((each, at) =>
        html`<${Difference} key=${at} each=${each} />`)}</tbody>`)}${data.times && html`<tbody><tr><th scope="rowgroup" colspan="3">Times</th></tr>${
          times(data.times).map(([name, one, other]) => html`<tr key=${name}><td>${visible(name)}</td><td>${shownTime(one)}</td><td>${shownTime(other)}</td></tr>`)}</tbody>`}</table>`}</div>`;
}

const shownTime = (value) => (typeof value === "number" ? ms(value) : visible(value ?? ""));

/** Times come as a pair for each name, or as a table for each call. */
function times(found) {
  if (!Array.isArray(found)) return Object.entries(found).map(([name, pair]) => [name, ...[pair].flat()]);
  if (found.every((each) => "where" in each)) return found.map(({ where, one, other }) => [where, one, other]);
  const [one, other] = found;
  return Object.keys({ ...one, ...other }).map((name) => [name, one[name], other[name]]);
}

function Difference({ each }) {
  const { where, one, other, spans } = each;
  return html`<tr><td><code>${visible(where)}</code></td><td><${Side} value=${one} spans=${spans?.one ?? spans?.[0]} /></td>
    <td><${Side} value=${other} spans=${spans?.other ?? spans?.[1]} /></td></tr>`;
}

function Side({ value, spans }) {
  if (value === undefined || value === null) return html`<span class="muted">absent</span>`;
  const signs = [...(typeof value === "string" ? value : JSON.stringify(value))];
  const pieces = [];
  let at = 0;
  for (const span of [spans ?? []].flat()) {
    const [from, size] = Array.isArray(span) ? [span[0], span[1] - span[0]] : [span.at, span.size];
    pieces.push(html`${bdi(signs.slice(at, from).join(""))}`, html`<mark>${visible(signs.slice(from, from + size).join(""))}</mark>`);
    at = from + size;
  }
  return html`${pieces}${bdi(signs.slice(at, at + 4000).join(""))}`;
}
