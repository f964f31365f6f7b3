// Heads and bodies as they went over the wire.
import { useState } from "preact/hooks";

import { text } from "./api.js";
import { Text, Wrong, bdi, copy, html, jsonIn, useLoaded, visible } from "./parts.js";

export function Raw({ call }) {
  const { request, reply } = call;
  const query = new URLSearchParams(request.query).toString();
  return html`<${Message} of="request" title="Request" call=${call} part=${request}
      first=${`${request.method} ${request.path}${query && `?${query}`}`} />
    <${Message} of="reply" title="Reply" call=${call} part=${reply}
      first=${reply.status ? `HTTP ${reply.status}` : "nothing was sent"} />`;
}

function Message({ of, call, title, first, part }) {
  const [wanted, setIndented] = useState(true);
  const { data, error } = useLoaded(() => text(`calls/${call.call}/body`, { of }), [call.call, of, call.ended]);
  const found = data === undefined ? undefined : jsonIn(data);
  const indented = wanted && found !== undefined;
  const body = indented ? JSON.stringify(found, null, 2) : data;
  return html`<section class="message"><h3>${title} <span class="switch">
      <button aria-pressed=${indented} disabled=${found === undefined} onClick=${() => setIndented(true)}>Indented</button>
      <button aria-pressed=${!indented} onClick=${() => setIndented(false)}>Exact</button>
      <button disabled=${!data} onClick=${() => copy(data, `the ${of}`)}>Copy</button></span></h3>
    <pre class="wire"><b>${bdi(first)}</b>${"\n"}${Object.entries(part.headers ?? {}).map(
      ([name, value]) => html`<span key=${name}>${bdi(name, "key")}: ${bdi(value)}${"\n"}</span>`,
    )}</pre>
    <${Wrong} error=${error} />
    ${data && html`<pre class="wire body"><${Text} key=${indented} value=${body} /></pre>`}
    ${data === "" && html`<p class="aside">no body</p>`}
    ${part.cut_off && html`<p class="torn">The journal keeps this body only ${visible(part.cut_off)}.</p>`}</section>`;
}
