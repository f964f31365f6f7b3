// The rules in the order in which they are tried, with their hits and remarks.
import { get, remove } from "./api.js";
import { List } from "./list.js";
import { Action, CallLink, Wrong, count, html, plural, useLoaded, visible } from "./parts.js";
import * as state from "./state.js";
import { address, go, route } from "./url.js";

const [HEIGHT, PAGE] = [44, 500];

/** All rules of a namespace, in pages where the server gives them in pages. */
export async function allRules(namespace, stop) {
  const rules = [];
  for (;;) {
    const { rules: found } = await get("rules", { namespace, limit: PAGE, after: rules.length || undefined }, stop);
    rules.push(...found);
    if (found.length !== PAGE) return rules;
  }
}

export function Rules() {
  const namespace = state.namespace.value || "default";
  const hits = Math.floor(state.total.value / 10); // hits are read again with every tenth call
  const { data, error, again } = useLoaded((stop) => allRules(namespace, stop), [namespace, state.rulesChanged.value, hits]);
  const rules = data ?? [];
  const wanted = route.value.items[0];
  const at = rules.findIndex((rule) => rule.name === wanted);
  const open = (index) => go(["rules", rules[index].name], {}, { replace: true });
  return html`<div class="rules-view"><header class="title"><h2>Rules</h2><p>Tried from the top; the first that matches answers. Namespace <bdi>${
      visible(namespace)}</bdi>.</p><a class="button main" href=${address(["draft"])}>New rule</a></header>
    <${Wrong} error=${error} />
    ${data && !rules.length && html`<div class="nothing"><h2>No rules</h2><p>Calls get generated answers.</p></div>`}
    ${rules.length > 0 && html`<${List} id="rules" label="Rules" items=${rules} height=${HEIGHT} columns=${4} active=${at}
      onActive=${open} onOpen=${open} render=${(rule, index) => html`<${Row} rule=${rule} index=${index} again=${again} namespace=${namespace} />`} />`}
    ${at >= 0 && html`<${Rule} rule=${rules[at]} />`}
    <footer class="sums"><span>${plural(rules.length, "rule")}</span></footer></div>`;
}

export const whereOf = (rule) =>
  rule.where?.file ? `${rule.where.file}:${rule.where.line}` : (rule.source ?? "").split(" ")[1] ?? "";

function Row({ rule, index, again, namespace }) {
  const remark = rule.remarks?.[0];
  return html`<div role="gridcell" class="cell place-cell"><div class="one"><span class="number">${index + 1}</span> <b><bdi>${visible(rule.name)}</bdi></b></div>
      <div class="two"><bdi>${visible(whereOf(rule))}</bdi>${rule.added && html` <span class="flag neutral">added</span>`}</div></div>
    <div role="gridcell" class="cell hits"><div class="one"><a href=${address(["calls"], { q: ruleFilter(rule.name) })}>${
      plural(rule.hits, "hit")}</a></div><div class="two">${rule.last_call ? html`last <${CallLink} number=${rule.last_call} />` : timesOf(rule)}</div></div>
    <div role="gridcell" class="cell does"><div class="one"><bdi>${visible(conditions(rule.spec?.when))}</bdi></div>
      <div class="two">${remark ? html`<span class="remark">${visible(remark.text ?? remark)}</span>` : html`→ <bdi>${visible(outcome(rule.spec))}</bdi>`}</div></div>
    <div role="gridcell" class="cell acts"><a class="button" href=${address(["draft"], { rule: rule.name })}>Edit a draft</a>${rule.added && html` <${Action}
      label="Remove" confirm="Remove?" run=${async () => {
        await remove(`rules/${encodeURIComponent(rule.name)}`, { namespace });
        again();
      }} />`}</div>`;
}

const ruleFilter = (name) => (/[\s"]/.test(name) ? `rule:"${name.replaceAll('"', "")}"` : `rule:${name}`);
const timesOf = (rule) => (rule.spec?.times ? `times ${rule.spec.times}` : rule.counts ? "counts calls" : "");

/** The conditions of a rule on one line, as it states them. */
export function conditions(when) {
  if (!when || !Object.keys(when).length) return "any call";
  return Object.entries(when).map(([field, test]) => `${field} ${typeof test === "string" ? JSON.stringify(test) : flat(test)}`).join(", ");
}

const flat = (value) => JSON.stringify(value).replaceAll('"', "").replace(/^\{(.*)\}$/, "$1");

export function outcome(spec) {
  const then = spec?.then;
  if (!then) return "changes delivery only";
  return Object.entries(then).map(([name, value]) => `${name} ${typeof value === "string" ? JSON.stringify(value) : flat(value)}`).join(", ");
}

const Rule = ({ rule }) =>
  html`<section class="rule-open" aria-label=${`Rule ${rule.name}`}><h3><bdi>${visible(rule.name)}</bdi> <small>${visible(whereOf(rule))} · ${
    count(rule.hits)} hits</small></h3>${(rule.remarks ?? []).map((remark, at) => html`<p class="remark" key=${at}>${visible(remark.text ?? remark)}</p>`)}
    <pre class="wire"><bdi>${visible(rule.text ?? JSON.stringify(rule.spec, null, 2))}</bdi></pre></section>`;
