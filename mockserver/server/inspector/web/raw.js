// Heads and bodies as they went over the wire, exact or indented.
import { useState } from "preact/hooks";

import { text } from "./api.js";
import { Text, Wrong, copy, html, jsonIn, useLoaded, visible } from "./parts.js";

export const Raw = ({ call }) =>
  html`<${Message} of="request" call=${call} title="Request" first=${`${call.request.method} ${call.request.path}${
      queryOf(call.request.query)}`} part=${call.request} />
    <${Message} of="reply" call=${call} title="Reply" first=${call.reply.status ? `HTTP ${call.reply.status}` : "nothing was sent"}
      part=${call.reply} />`;

const queryOf = (query) => {
  const text = new URLSearchParams(query ?? {}).toString();
  return text && `?${text}`;
};

function Message({ of, call, title, first, part }) {
  const [indented, setIndented] = useState(true);
  const { data, error } = useLoaded(() => text(`calls/${call.call}/body`, { of }), [call.call, of, call.ended]);
  const found = data === undefined ? undefined : jsonIn(data);
  const body = indented && found !== undefined ? JSON.stringify(found, null, 2) : data;
  return html`<section class="message"><h3>${title} <span class="switch"><button aria-pressed=${indented && found !== undefined}
      disabled=${found === undefined} onClick=${() => setIndented(true)}>Indented</button><button aria-pressed=${!indented || found === undefined}
      onClick=${() => setIndented(false)}>Exact</button><button disabled=${!data} onClick=${() => copy(data, `the ${of}`)}>Copy</button></span></h3>
    <pre class="wire"><b><bdi>${visible(first)}</bdi></b>${"\n"}${Object.entries(part.headers ?? {}).map(([name, value]) => html`<span key=${name}><bdi class="key">${visible(name)}</bdi>: <bdi>${
  visible(value)}</bdi>${"\n"}</span>`)}</pre>
    <${Wrong} error=${error} />
    ${data !== undefined && (data ? html`<pre class="wire body"><${Text} key=${indented} value=${body} /></pre>` : html`<p class="aside">no body</p>`)}
    ${part.cut_off && html`<p class="torn">The journal keeps this body only ${visible(part.cut_off)}.</p>`}</section>`;
}
