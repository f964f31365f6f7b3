// What was asked and answered.
import { useEffect, useState } from "preact/hooks";

import { blob, get } from "./api.js";
import { CallLink, Text, Wrong, bdi, bytes, html, json, jsonIn, plural, useLoaded, visible } from "./parts.js";

export function Conversation({ call }) {
  const { asked, answer } = call;
  const before = earlier(call);
  const previous = useLoaded(async (stop) => (before ? get(`calls/${before}`, {}, stop) : null), [before]);
  const messages = asked?.messages ?? [];
  const same = previous.data?.asked ? alike(previous.data.asked.messages, messages) : 0;
  const [unfolded, unfold] = useState(false);
  const results = new Map(messages.filter((each) => each.tool_call_id).map((each) => [each.tool_call_id, each]));
  const folded = unfolded ? 0 : same;
  const refused = call.source === "invalid" && answer?.error !== undefined;
  return html`${refused && html`<${Answer} answer=${answer} call=${call} />`}
    ${!asked && html`<p class="aside">The request was not understood as a call; <${CallLink} number=${call.call} tab="raw"
      words="Raw" /> shows it.</p>`}
    <${Options} asked=${asked} />
    ${folded > 0 && html`<p class="folded"><button onClick=${() => unfold(true)}>${plural(folded, "message")}</button> as in <${
      CallLink} number=${before} /></p>`}
    ${messages.slice(folded).map((message, at) => html`<${Message} key=${at + folded} message=${message} results=${results}
      known=${callsIn(messages)} />`)}
    ${(messages.length ? [] : asked?.prompts ?? []).map((prompt, at) => html`<${Turn} key=${`prompt${at}`} who=${`prompt ${at}`}
      ><${Text} value=${prompt} /><//>`)}
    ${call.media?.request.length > 0 && html`<${Turn} who="sent" kind="user"><${Shown} call=${call} of="request" /><//>`}
    ${!refused && html`<${Answer} answer=${answer} call=${call} />`}`;
}

/** The pictures and sounds of a request or a reply, to look at and to listen to. */
const Shown = ({ call, of }) => (call.media?.[of] ?? []).map((medium, at) =>
  html`<${Medium} key=${at} call=${call.call} of=${of} at=${at} medium=${medium} />`);

function Medium({ call, of, at, medium: { type, size } }) {
  const { data, error } = useLoaded(async () => URL.createObjectURL(await blob(`calls/${call}/media`, { of, at })),
    [call, of, at]);
  useEffect(() => () => data && URL.revokeObjectURL(data), [data]);
  const label = `${type}, ${bytes(size)}`;
  if (error) return html`<${Wrong} error=${error} />`;
  if (!data) return html`<span class="media">${visible(label)}</span>`;
  return html`<figure class="shown">${type.startsWith("image/") ? html`<img src=${data} alt=${label} />`
    : html`<audio controls src=${data} aria-label=${label}></audio>`}<figcaption>${visible(label)}</figcaption></figure>`;
}

function earlier(call) {
  const chain = call.chain?.conversation ?? [];
  return chain[chain.indexOf(call.call) - 1];
}

function alike(before, now) {
  let at = 0;
  while (at < before.length && at < now.length && JSON.stringify(before[at]) === JSON.stringify(now[at])) at++;
  return at > 1 ? at : 0;
}

const callsIn = (messages) => new Set(messages.flatMap((message) => (message.calls ?? []).map((each) => each.id)));

const Turn = ({ who, children, kind = "", note }) =>
  html`<section class=${`turn ${kind}`}><h3>${visible(who)}${note && html` <small>${note}</small>`}</h3>
    <div class="words">${children}</div></section>`;

function Options({ asked }) {
  const tools = asked?.tools ?? [];
  const options = Object.entries(asked?.options ?? {});
  return html`${options.length > 0 && html`<${Turn} who="options"><span class="options">${options.map(
      ([name, value]) => html`<span key=${name}><b>${visible(name)}</b> ${bdi(JSON.stringify(value))}</span>`,
    )}</span><//>`}
    ${tools.length > 0 && html`<${Turn} who="tools"><${Tools} tools=${tools} /><//>`}`;
}

const MOST = 20;

function Tools({ tools }) {
  const [most, setMost] = useState(MOST);
  return html`${tools.slice(0, most).map((tool, at) => html`<${Tool} key=${at} tool=${tool} />`)}${tools.length > most &&
    html`<button class="more" onClick=${() => setMost(most * 10)}>${tools.length - most} more tools</button>`}`;
}

function Tool({ tool }) {
  const { name, description, parameters } = tool;
  const schema = parameters?.properties ?? {};
  const types = Object.entries(schema).map(([each, { type } = {}]) => `${each}: ${type ?? "any"}`);
  const head = html`<b>${bdi(name)}</b>${bdi(`(${types.join(", ")})`, "muted")}`;
  if (!description && !parameters) return html`<div class="tool">${head}</div>`;
  return html`<details class="tool"><summary>${head}</summary>${description && html`<p><${Text} value=${description} /></p>`}
    ${parameters && json(parameters)}</details>`;
}

function Message({ message, results, known }) {
  const calls = message.calls ?? [];
  const id = message.tool_call_id;
  if (id && known.has(id)) return null; // shown beside its call
  const note = id ? `result of ${visible(id)}, which no message calls` : message.name && visible(message.name);
  return html`<${Turn} who=${message.role} kind=${message.role === "user" ? "user" : ""} note=${note}>
    ${message.text && html`<div class="text"><${Text} value=${message.text} />${message.cut && html`<span class="torn">
      … cut here; Raw has all that is kept</span>`}</div>`}
    ${(message.parts ?? []).filter((part) => part.kind !== "text").map((part, at) => html`<${Media} key=${at} part=${part} />`)}
    ${calls.map((each, at) => html`<${ToolCall} key=${at} call=${each} result=${results.get(each.id)} />`)}
    ${!message.text && !calls.length && !message.parts?.length && html`<span class="muted">empty</span>`}<//>`;
}

const Media = ({ part }) =>
  html`<span class="media">${[part.kind, part.type, part.size !== undefined && part.size !== null && bytes(part.size)]
    .filter(Boolean).map(visible).join(" · ")}</span>`;

const jsonOr = (text) => {
  const found = jsonIn(text);
  return found === undefined ? html`<div class="json"><${Text} value=${text} /></div>` : json(found);
};

function ToolCall({ call, result, awaited = true }) {
  return html`<div class="tool-call"><div class="tool-name"><b>${bdi(call.name)}</b> ${bdi(call.id, "muted")}</div>
    ${call.arguments !== undefined && jsonOr(call.arguments)}
    ${result && html`<div class="result"><span class="arrow">→</span>${jsonOr(result.text)}</div>`}
    ${!result && awaited && call.id && html`<p class="muted">no result was sent</p>`}</div>`;
}

function Answer({ answer, call }) {
  const choices = answer?.choices ?? [];
  const open = call.ended === "open";
  const broke = !open && call.ended !== "complete";
  const end = broke && html`<p class="torn">${visible(call.ended)}</p>`;
  if (answer?.error) {
    return html`<${Turn} who="error" kind="answer failed" note=${call.status}>${json(answer.error)}${end}<//>`;
  }
  if (!choices.length && call.media?.reply.length) {
    return html`<${Turn} who="answer" kind="answer"><${Shown} call=${call} of="reply" />${end}<//>`;
  }
  if (!choices.length) {
    return html`<${Turn} who="answer" kind="answer">${broke ? end : html`<span class="muted">${
      open ? "nothing yet" : "no text; see Raw"}</span>`}<//>`;
  }
  const used = call.usage?.completion_tokens;
  return choices.map((choice, at) => html`<${Turn} key=${at} who=${choices.length > 1 ? `answer ${at}` : "answer"} kind="answer"
    note=${[choice.finish, at === 0 && used !== undefined && plural(used, "token")].filter(Boolean).map(visible).join("\n")}>
    ${(choice.parts ?? []).map((part, index) => html`<${Part} key=${index} part=${part} />`)}
    ${["annotations", "filters", "logprobs"].filter((name) => choice[name] && Object.keys(choice[name]).length).map((name) =>
      html`<details key=${name}><summary>${name}</summary>${json(choice[name])}</details>`)}
    ${at === 0 && html`<${Shown} call=${call} of="reply" />`}
    ${open && html`<span class="pulse">open</span>`}${end}<//>`);
}

function Part({ part: { kind, text = "", call, item } }) {
  if (call) return html`<${ToolCall} call=${call} awaited=${false} />`;
  if (item) return html`<details open><summary>${visible(item.type ?? kind)}</summary>${json(item)}</details>`;
  const [found, special] = [jsonIn(text), kind !== "text"];
  return html`<div class=${special ? "text special" : "text"}>${special && html`<span class="label">${visible(kind)}</span> `}${
    found === undefined ? html`<${Text} value=${text} />` : json(found)}</div>`;
}
