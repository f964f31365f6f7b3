// The cassette, and the server.
import { get, post, put } from "./api.js";
import { refresh } from "./feed.js";
import { Action, Copyable, Wrong, bdi, bytes, count, html, plural, shown, useLoaded, visible } from "./parts.js";
import * as state from "./state.js";

const MODES = ["none", "once", "new_episodes", "all"];
const RECORD = "mockserver serve --cassette weather --record once --upstream openai=https://api.openai.com/v1";

const Facts = ({ of }) =>
  html`<dl class="facts-list">${of.map(
    ([name, value], at) => html`<dt key=${at}>${visible(name)}</dt><dd>${bdi(shown(value))}</dd>`,
  )}</dl>`;

const Table = ({ heads, children }) =>
  html`<table class="plain-table"><thead><tr>${heads.map((head) => html`<th scope="col" key=${head}>${head}</th>`)}</tr></thead>
    <tbody>${children}</tbody></table>`;

export function Cassette() {
  const namespace = state.namespace.value || "default";
  const grown = Math.floor(state.total.value / 10);
  const { data, error, again } = useLoaded((stop) => get("cassette", { namespace }, stop), [namespace], { grown });
  const change = async (record) => {
    await put("cassette", { name: data.name, record }, { namespace });
    again();
  };
  const facts = Object.entries(data ?? {}).filter(([, value]) => ["string", "number"].includes(typeof value));
  return html`<div class="sheet"><header class="title"><h2>Cassette</h2><p>Namespace ${bdi(namespace)}</p></header>
    <${Wrong} error=${error} />
    ${data && !data.name && html`<div class="nothing"><h2>No cassette</h2>
      <p>Record one: start the server with a cassette and an upstream.</p><${Copyable} text=${RECORD} /></div>`}
    ${data?.name && html`<${Facts} of=${facts.map(([name, value]) => [name.replaceAll("_", " "), value])} />
      <p class="modes">Record mode ${MODES.map((mode) => mode === data.record
        ? html`<b key=${mode} class="chip chosen">${mode}</b>`
        : html`<${Action} key=${mode} label=${mode} run=${() => change(mode)}
            confirm=${mode !== "none" && `Record with ${mode}? This asks upstream`} />`)}</p>
      <${Episodes} namespace=${namespace} name=${data.name} grown=${grown} />`}</div>`;
}

function Episodes({ namespace, name, grown }) {
  const load = (stop) => get("cassette/episodes", { namespace, limit: 200 }, stop);
  const { data, error } = useLoaded(load, [namespace, name], { grown });
  return html`<${Wrong} error=${error} />${data && html`<${Table} heads=${["#", "asked", "status", "frames", "played"]}>${
    data.episodes.map((each) => html`<tr key=${each.number}><td>${each.number}</td><td>${bdi(each.asked)}</td>
      <td>${each.status}</td><td>${each.frames || "plain"}</td><td>${each.played || "never"}</td></tr>`)}<//>`}`;
}

export function Server() {
  const { version, files = [], rules, journal, settings, bases } = state.ready.value ?? {};
  const grown = Math.floor(state.total.value / 10);
  const load = (stop) => get("state", { namespace: "*" }, stop);
  const { data, error, again } = useLoaded(load, [state.rulesChanged.value], { grown });
  const run = (words, ask) => async () => {
    await ask();
    state.say(words);
    again();
    await refresh();
  };
  const facts = [["Files", files.join(", ") || "none"], ["Rules", count(rules ?? 0)]];
  if (journal) facts.push(["Journal", `${plural(journal.calls, "call")}, ${bytes(journal.bytes)} of ${bytes(journal.room)}`]);
  return html`<div class="sheet"><header class="title"><h2>Server</h2><p>mockserver ${version}</p>
      <${Action} label="Read the files again" run=${run("The files were read again.", () => post("reload"))} /></header>
    <${Facts} of=${[...facts, ...Object.entries(settings ?? {})]} />
    ${bases && html`<h3>Base URLs</h3><${Facts} of=${bases.map(({ dialect, url }) => [dialect, url])} />`}
    <h3>Namespaces</h3><${Wrong} error=${error} />
    <${Table} heads=${["name", "calls", "state", "counted", "answers", "reset"]}>${(data?.namespaces ?? []).map(
      (each) => html`<${Namespace} key=${each.namespace} each=${each} run=${run} />`,
    )}<//></div>`;
}

function Namespace({ each: { namespace, calls, state: scenario, times, timing }, run }) {
  const counted = Object.entries(times ?? {}).map(([rule, used]) => `${rule} ${shown(used)}`);
  return html`<tr><td>${bdi(namespace)}</td><td>${count(calls)}</td><td>${bdi(scenario)}</td><td>${bdi(counted.join(", "))}</td>
    <td><${Action} label=${timing ? "as timed" : "at once"} title="Answer as timed, or at once"
      run=${run("Changed the times of answers.", () => post("timing", { on: !timing }, { namespace }))} /></td>
    <td><${Action} label="Reset" confirm="Reset rules, counters, calls?" run=${run("The namespace was reset.", async () => {
      await post("reset", {}, { namespace });
      state.forget(Infinity, namespace);
    })} /></td></tr>`;
}
