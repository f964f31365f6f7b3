// The cassette in use, and the server: settings that differ from their defaults, namespaces, times, reset and reload.
import { get, post, put } from "./api.js";
import { refresh } from "./feed.js";
import { Action, Copyable, Wrong, bdi, bytes, count, html, plural, useLoaded, visible } from "./parts.js";
import * as state from "./state.js";

const MODES = ["none", "once", "new_episodes", "all"];

export function Cassette() {
  const namespace = state.namespace.value || "default";
  const [calls, params] = [Math.floor(state.total.value / 10), { namespace }];
  const { data, error, again } = useLoaded((stop) => get("cassette", params, stop), [namespace, calls]);
  const listed = useLoaded((stop) => get("cassette/episodes", { ...params, limit: 200 }, stop), [namespace, calls, data?.cassette]);
  const name = data?.cassette ?? data?.name;
  const episodes = listed.data?.episodes ?? [];
  const change = async (record) => {
    await put("cassette", { name, record }, params);
    again();
  };
  return html`<div class="sheet"><header class="title"><h2>Cassette</h2><p>Namespace ${bdi(namespace)}</p></header>
    <${Wrong} error=${error} />
    ${data && !name && html`<div class="nothing"><h2>No cassette</h2><p>Record one: start the server with a cassette and an upstream.</p>
      <${Copyable} text="mockserver serve --cassette weather --record once --upstream openai=https://api.openai.com/v1" /></div>`}
    ${name && html`<dl class="facts-list">${Object.entries(data).filter(([, value]) => value === null || typeof value !== "object").map(([key, value]) =>
        html`<dt key=${key}>${visible(key.replaceAll("_", " "))}</dt><dd>${bdi(value ?? "none")}</dd>`)}</dl>
      <p class="modes">Record mode ${MODES.map((mode) => (mode === (data.record ?? data.mode)
        ? html`<b key=${mode} class="chip chosen">${mode}</b>`
        : html`<${Action} key=${mode} label=${mode} confirm=${mode === "none" ? undefined : `Record with ${mode}? This asks upstream`} run=${() => change(mode)} />`))}</p>`}
    ${episodes.length > 0 && html`<table class="plain-table"><thead><tr><th scope="col">#</th><th scope="col">asked</th><th scope="col">status</th><th scope="col">frames</th><th scope="col">played</th></tr></thead>
      <tbody>${episodes.map((each) => html`<tr key=${each.number}><td>${each.number}</td><td>${bdi(each.asked)} ${bdi(each.source, "muted")}</td>
        <td>${each.status}</td><td>${each.frames ? count(each.frames) : "plain"}</td><td>${each.played ? count(each.played) : html`<span class="muted">never</span>`}</td></tr>`)}</tbody></table>`}
    <${Wrong} error=${name && listed.error} /></div>`;
}

export function Server() {
  const ready = state.ready.value ?? {};
  const calls = Math.floor(state.total.value / 10);
  const { data, error, again } = useLoaded((stop) => get("state", { namespace: "*" }, stop), [calls, state.rulesChanged.value]);
  const namespaces = data?.namespaces ? (Array.isArray(data.namespaces) ? data.namespaces : Object.entries(data.namespaces).map(([name, each]) => ({ name, ...each }))) : data ? [data] : [];
  const bases = Array.isArray(ready.bases) ? ready.bases : Object.entries(ready.bases ?? {}).map(([dialect, url]) => ({ dialect, url }));
  const settings = Object.entries(ready.settings ?? {});
  const journal = ready.journal;
  const done = async (words) => {
    state.say(words);
    again();
    await refresh();
  };
  return html`<div class="sheet"><header class="title"><h2>Server</h2><p>mockserver ${visible(ready.version ?? "")}</p><${Action} label="Read the files again"
        run=${async () => (await post("reload"), done("The files were read again."))} /></header>
    <dl class="facts-list"><dt>Files</dt><dd>${(ready.files ?? []).map((file, at) => html`<bdi key=${at}>${visible(file)}</bdi> `)}${!ready.files?.length && "none"}</dd>
      <dt>Rules</dt><dd>${count(ready.rules ?? 0)}</dd>
      ${journal && html`<dt>Journal</dt><dd>${count(journal.calls)} calls, ${bytes(journal.bytes)} of ${bytes(journal.room)}</dd>`}
      ${settings.map(([name, value]) => html`<dt key=${name}><code>${visible(name)}</code></dt><dd>${bdi(typeof value === "string" ? value : JSON.stringify(value))}</dd>`)}</dl>
    ${bases.length > 0 && html`<h3>Base URLs</h3><table class="plain-table"><tbody>${bases.map((each, at) => html`<tr key=${at}><td><b>${visible(each.dialect ?? "")}</b></td><td><code>${
      visible(each.url ?? each.base ?? each)}</code></td></tr>`)}</tbody></table>`}
    <h3>Timing</h3><p class="modes"><${Action} label="Answer as timed" run=${async () => (await post("timing", { on: true }), done("Answers are sent as timed."))} />
      <${Action} label="Answer at once" run=${async () => (await post("timing", { on: false }), done("Answers are sent at once."))} /></p>
    <h3>Namespaces</h3><${Wrong} error=${error} /><table class="plain-table"><thead><tr><th scope="col">name</th><th scope="col">calls</th><th scope="col">state</th><th scope="col">counted</th><th scope="col"><span class="hidden">actions</span></th></tr></thead>
      <tbody>${namespaces.map((each, at) => html`<${Namespace} key=${at} each=${each} done=${done} />`)}</tbody></table></div>`;
}

function Namespace({ each, done }) {
  const name = each.namespace ?? each.name ?? "default";
  const counted = Object.entries(each.times ?? {}).map(([rule, used]) => `${rule} ${used?.used ?? JSON.stringify(used)}`);
  const calls = state.everything().filter((row) => row.namespace === name).length;
  return html`<tr><td>${bdi(name)}</td><td>${plural(calls, "call")}</td><td>${bdi(each.state)}</td>
    <td>${bdi(counted.join(", "))}</td><td><${Action} label="Reset" confirm="Reset: rules, counters, calls?" run=${async () => {
      await post("reset", {}, { namespace: name });
      state.forget(Infinity, name);
      await done(`Reset ${name}.`);
    }} /></td></tr>`;
}
