// A draft of a rule: checked while it is typed, then used, copied or saved.
import { useEffect, useRef, useState } from "preact/hooks";

import { get, post, postYaml, put, text } from "./api.js";
import { digest } from "./feed.js";
import { Action, CallLink, Text, Wrong, bdi, copy, count, html, plural, useLoaded, visible } from "./parts.js";
import { DRAFT, allRules, whereOf } from "./rules.js";
import * as state from "./state.js";
import { address, go, route } from "./url.js";

const EMPTY = "- name: new rule\n  when: {last_user: \"*hello*\"}\n  then: {text: \"Hello!\"}\n";
const [PAUSE, CALLS] = [250, 500];

/** The draft that an address asks for, or null. */
async function begin(params, namespace) {
  const [from, name, change] = ["from", "rule", "change"].map((key) => params.get(key));
  const rules = name ? await allRules(namespace) : [];
  const rule = rules.find((each) => each.name === name);
  if (rule) return { yaml: changed(rule, change), instead: rule, from };
  if (from) return { yaml: await text(`calls/${Number(from)}/as`, { form: "rule" }), instead: null, from };
  return null;
}

/** The text of a rule; one that no file holds is written as JSON, which is YAML too. */
const item = ({ text, spec }) =>
  text ?? Object.entries(spec).map(([key, value], at) => `${at ? "  " : "- "}${key}: ${JSON.stringify(value)}\n`).join("");

function changed(rule, change) {
  const [, field] = /^([\w.]+):/.exec(change ?? "") ?? [];
  if (!field) return item(rule);
  const pattern = new RegExp(`(^|[{,]\\s*|\\n\\s*)"?${field}"?: *("(?:[^"\\\\]|\\\\.)*"|'[^']*'|\\{[^{}]*\\}|[^,{}\\n]+)`);
  return item(rule).replace(pattern, (_, before) => before + change);
}

const kept = () => JSON.parse(sessionStorage.getItem(DRAFT));

export function Draft() {
  const { params } = route.value;
  const namespace = state.namespace.value || "default";
  const key = ["from", "rule", "change"].map((name) => params.get(name)).join();
  const start = async () => (await begin(params, namespace)) ?? kept() ?? { yaml: EMPTY };
  const { data, error, keys } = useLoaded(start, [key, namespace]);
  if (error) return html`<div class="draft-view"><${Wrong} error=${error} /></div>`;
  return data && html`<${Editor} start=${data} namespace=${namespace} key=${keys} />`;
}

function Editor({ start, namespace }) {
  const [yaml, setYaml] = useState(start.yaml);
  const [{ instead, from }, setOrigin] = useState(start);
  const [saving, save] = useState(false);
  const replaced = instead && (saving || instead.added) ? instead.name : undefined; // Use leaves files alone
  const checked = useChecked(yaml, replaced, namespace);
  useEffect(() => sessionStorage.setItem(DRAFT, JSON.stringify({ yaml, instead, from })), [yaml, instead]);
  const mistakes = checked.data?.mistakes ?? [];
  const empty = () => {
    sessionStorage.removeItem(DRAFT);
    setYaml(EMPTY);
    setOrigin({});
    go(["draft"], {}, { replace: true });
  };
  return html`<div class="draft-view"><section class="editing" aria-label="Draft">
      <header class="title"><h2>Draft</h2><p>${instead
        ? html`${replaced ? "instead" : "a copy"} of ${bdi(whereOf(instead), "place")} <b>${bdi(instead.name)}</b>${
          !replaced && ", before all others"}`
        : "a new rule, before all others"}</p></header>
      <${Yaml} value=${yaml} onInput=${setYaml} mistakes=${mistakes} />
      ${mistakes.map(({ line, message }, at) => html`<p class="mistake" key=${at}>${line && html`<b>line ${line}</b> `}${
        bdi(message)}</p>`)}
      <${Wrong} error=${checked.error} />
      <div class="actions"><${Action} label="Use" className="main" title="Add the draft in memory, before the rules of files"
          run=${() => use(yaml, namespace)} />
        <button onClick=${() => copy(yaml, "the draft")}>Copy</button>
        <${Save} yaml=${yaml} instead=${instead} asking=${saving} ask=${save} />
        <button onClick=${empty}>Empty</button></div></section>
    <${Effect} checked=${checked} yaml=${yaml} replaced=${replaced} from=${from} namespace=${namespace} /></div>`;
}

function useChecked(yaml, replaced, namespace) {
  const [settled, settle] = useState(yaml);
  useEffect(() => {
    const timer = setTimeout(() => settle(yaml), PAUSE);
    return () => clearTimeout(timer);
  }, [yaml]);
  const body = { rules: settled, calls: CALLS, instead_of: replaced };
  const calls = Math.floor(state.total.value / 10);
  return useLoaded((stop) => post("rules/try", body, { namespace }, stop), [settled, replaced, namespace, calls]);
}

function Yaml({ value, onInput, mistakes }) {
  const gutter = useRef(null);
  const lines = value.split("\n").length;
  const wrong = new Set(mistakes.map((mistake) => mistake.line));
  const indent = (event) => {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
    const { selectionStart: at } = event.target;
    const [space] = /[^\n]*$/.exec(value.slice(0, at))[0].match(/^\s*/);
    if (!space) return;
    event.preventDefault();
    event.target.setRangeText(`\n${space}`, at, event.target.selectionEnd, "end");
    onInput(event.target.value);
  };
  return html`<div class="yaml"><div class="gutter" ref=${gutter} aria-hidden="true">${Array.from({ length: lines }, (_, at) =>
      html`<div key=${at} class=${wrong.has(at + 1) ? "bad" : ""}>${at + 1}</div>`)}</div>
    <textarea value=${value} spellcheck=${false} autocomplete="off" aria-label="Rule, in YAML" wrap="off" onKeyDown=${indent}
      rows=${Math.max(8, lines + 1)} aria-invalid=${mistakes.length > 0} onInput=${(event) => onInput(event.target.value)}
      onScroll=${(event) => (gutter.current.scrollTop = event.target.scrollTop)} /></div>`;
}

async function use(yaml, namespace) {
  const params = { namespace, replace: true };
  try {
    await postYaml("rules", batch(yaml), params);
  } catch (refused) {
    if (refused.status !== 409) throw refused;
    await postYaml("rules", batch(renamed(yaml)), params); // a file has the name
  }
  state.rulesChanged.value++;
  state.say("The draft is in use, before the rules of the files.");
  go(["rules"]);
}

const batch = (yaml) => (/^\s*-/.test(yaml) ? `rules:\n${yaml}` : yaml);
const renamed = (yaml) =>
  yaml.replace(/^(\s*-?\s*\{?\s*"?name"?: *)("[^"\n]*"|'[^'\n]*'|[^\n,}]+)/m, (_, before, name) =>
    before + JSON.stringify(`${name.trim().replace(/^["']|["']$/g, "")} (draft)`));

function Save({ yaml, instead, asking, ask }) {
  const where = instead?.where;
  if (!state.ready.value?.writes || !where?.sha256) return null;
  const save = async () => {
    await put("files/0", { from: where.line, to: where.end, text: yaml, sha256: where.sha256 });
    ask(false);
    state.say(`Saved to ${where.file}.`);
    go(["rules", instead.name]);
  };
  if (!asking) return html`<button onClick=${() => ask(true)}>Save…</button>`;
  return html`<span class="saving"><pre class="wire difference">${lines(item(instead), "- ", "del")}${
      lines(yaml, "+ ", "ins")}</pre>
    <${Action} label=${`Save to ${where.file}`} className="main" run=${save} />
    <button onClick=${() => ask(false)}>Do not save</button></span>`;
}

const lines = (text, sign, tag) =>
  text.trimEnd().split("\n").map((line, at) => html`<${tag} key=${tag + at}>${sign}${visible(line)}${"\n"}<//>`);

const MOST = 100;

function Effect({ checked, yaml, replaced, from, namespace }) {
  const data = checked.data?.mistakes?.length ? null : checked.data;
  const { looked_at: looked, of, answers = [], lost = [], hidden = [] } = data ?? {};
  const [chosen, choose] = useState(from ? Number(from) : null);
  const listed = [...answers.slice(0, MOST), ...lost.slice(0, MOST)].map((each) => state.row(each.call));
  state.version.value;
  useEffect(() => void digest(listed.filter(Boolean)), [data]);
  const list = (changes, won) => html`<ul class="changes">${changes.slice(0, MOST).map(
    (each) => html`<${Change} key=${each.call} each=${each} choose=${choose} chosen=${chosen} won=${won} />`,
  )}</ul>${changes.length > MOST && html`<p class="aside">and ${changes.length - MOST} more</p>`}`;
  return html`<section class="effect" aria-label="What the draft would do"><header class="title">
      <h2>${data ? plural(answers.length, "call") : checked.error || checked.data ? "Not checked" : "Checking…"}</h2>
      <p>${data && `of the latest ${count(looked)}${of > looked ? ` (of ${count(of)})` : ""} it would answer`}</p></header>
    ${data && !answers.length && html`<p class="aside">No kept call would get its answer from this draft.</p>`}
    ${answers.length > 0 && list(answers, true)}
    ${lost.length > 0 && html`<h3>No longer answered by it</h3>${list(lost, false)}`}
    ${hidden.length > 0 && html`<p class="remark">${plural(hidden.length, "call")} would match, but another rule answers first: ${
      hidden.slice(0, 5).map(({ call, by }) => html`<${CallLink} number=${call} /> ${bdi(by)} `)}</p>`}
    ${chosen && data && html`<${Tried} key=${chosen} number=${chosen} yaml=${yaml} replaced=${replaced} namespace=${namespace}
      round=${data} />`}</section>`;
}

function Change({ each: { call, was, now }, choose, chosen, won }) {
  const row = state.row(call);
  return html`<li class=${won ? "won" : "lost"}><button aria-pressed=${chosen === call} title="Show both answers"
      onClick=${() => choose(call)}>${won ? "+" : "−"} #${call}</button> ${bdi(row?.said, "said")}
    <small>was ${bdi(was ?? row?.source)}${!won && now && html`, would be ${bdi(now)}`}</small></li>`;
}

function Tried({ number, yaml, replaced, namespace, round }) {
  const body = { call: number, rules: yaml, instead_of: replaced };
  const was = useLoaded((stop) => get(`calls/${number}`, {}, stop), [number]);
  const would = useLoaded((stop) => post("try", body, { namespace }, stop), [number, round]);
  return html`<section class="tried"><h3><${CallLink} number=${number} /></h3>
    <${Wrong} error=${was.error ?? would.error} /><div class="two-columns">
      <${Side} title="was" source=${was.data?.source} reply=${was.data?.reply} other=${would.data?.reply} />
      <${Side} title="would be" source=${would.data?.answered_by} reply=${would.data?.reply} other=${was.data?.reply} />
    </div></section>`;
}

function linesOf({ frames, body } = {}) {
  const said = frames ? frames.map((frame) => frame.adds ?? "").join("") || frames : body;
  return (typeof said === "string" ? said : JSON.stringify(said, null, 2) ?? "").split("\n");
}

function Side({ title, source, reply, other }) {
  const known = new Set(linesOf(other));
  return html`<div><h4>${title}</h4>${reply && html`<p>${bdi(source)} · ${reply.status}</p>
    <pre class="wire">${linesOf(reply).slice(0, MOST).map((line, at) => {
      const text = html`<${Text} value=${line} limit=${1500} />`;
      return html`<${other && !known.has(line) ? "mark" : "span"} key=${at}>${text}${"\n"}<//>`;
    })}</pre>`}</div>`;
}
