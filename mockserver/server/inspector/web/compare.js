// Two calls side by side.
import { useEffect } from "preact/hooks";

import { post } from "./api.js";
import { bind } from "./keys.js";
import { CallLink, Wrong, bdi, html, marked, ms, plural, useLoaded } from "./parts.js";
import { address, go, route } from "./url.js";

const PARTS = { head: "Head", request: "Request", answer: "Answer" };
const TIMES = { first_byte_ms: "first byte", elapsed_ms: "whole answer" };

export function Compare() {
  const [one, other] = route.value.items.map(Number);
  const { data, error } = useLoaded((stop) => post("compare", { calls: [one, other] }, {}, stop), [one, other]);
  useEffect(() => bind({ Escape: () => go(["calls", other]) }), [other]);
  const total = data && Object.keys(PARTS).reduce((sum, part) => sum + data[part].length, 0);
  return html`<div class="compare-view"><header class="title"><h2><${CallLink} number=${one} /> ↔ <${
      CallLink} number=${other} /></h2><p>${data && (total ? plural(total, "difference") : "No difference")}</p>
      <a class="button" href=${address(["compare", other, one])}>Swap</a></header>
    <${Wrong} error=${error} />
    ${data && html`<table class="compare"><thead><tr><th scope="col">where</th><th scope="col">#${one}</th><th scope="col">#${
        other}</th></tr></thead>${Object.entries(PARTS).map(([part, title]) => data[part].length > 0 && html`<tbody key=${part}>
      <tr><th scope="rowgroup" colspan="3">${title}</th></tr>${data[part].map(
        (each, at) => html`<${Difference} key=${at} each=${each} />`,
      )}</tbody>`)}<tbody><tr><th scope="rowgroup" colspan="3">Times</th></tr>${Object.entries(TIMES).map(
        ([name, words]) => html`<tr key=${name}><td>${words}</td>${data.times[name].map(
          (time) => html`<td>${ms(time)}</td>`)}</tr>`,
      )}</tbody></table>`}</div>`;
}

const Difference = ({ each: { where, one, other, spans } }) =>
  html`<tr><td><code>${bdi(where)}</code></td><td><${Side} value=${one} span=${spans?.one} /></td>
    <td><${Side} value=${other} span=${spans?.other} /></td></tr>`;

const Side = ({ value, span }) => (value === undefined ? html`<span class="muted">absent</span>` : marked(value, span));
