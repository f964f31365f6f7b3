// The rules in the order in which they are tried.
import { get, remove } from "./api.js";
import { List } from "./list.js";
import { Action, CallLink, Wrong, bdi, html, plural, useLoaded, visible } from "./parts.js";
import * as state from "./state.js";
import { address, go, route } from "./url.js";

const [HEIGHT, PAGE] = [44, 500];
export const DRAFT = "mockserver-draft"; // in sessionStorage

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
  const keys = [namespace, state.rulesChanged.value];
  const grown = Math.floor(state.total.value / 10); // read hits again with every tenth call
  const { data, error, again } = useLoaded((stop) => allRules(namespace, stop), keys, { grown });
  const rules = data ?? [];
  const at = rules.findIndex((rule) => rule.name === route.value.items[0]);
  const open = (index) => go(["rules", rules[index].name], {}, { replace: true });
  const forget = async (name) => {
    await remove(`rules/${encodeURIComponent(name)}`, { namespace });
    again();
  };
  const acts = ({ name, added }) => html`<a class="button" href=${address(["draft"], { rule: name })}>Edit a draft</a>
    ${added && html`<${Action} label="Remove" confirm="Remove?" run=${() => forget(name)} />`}`;
  return html`<div class="rules-view"><header class="title"><h2>Rules</h2>
      <p>Tried from the top; the first that matches answers. Namespace ${bdi(namespace)}.</p>
      <a class="button main" href=${address(["draft"])} onClick=${() => sessionStorage.removeItem(DRAFT)}>New rule</a>
    </header>
    <${Wrong} error=${error} />
    ${data && !rules.length && html`<div class="nothing"><h2>No rules</h2>
      <p>Calls are answered as the setting unmatched says.</p></div>`}
    ${rules.length > 0 && html`<${List} id="rules" label="Rules" items=${rules} height=${HEIGHT} columns=${4} active=${at}
      onActive=${open} onOpen=${open}
      render=${(rule, index) => html`<${Row} rule=${rule} index=${index} acts=${acts(rule)} />`} />`}
    ${at >= 0 && html`<${Rule} rule=${rules[at]} acts=${acts(rules[at])} />`}
    <footer class="sums">${data && plural(rules.length, "rule")}</footer></div>`;
}

export const whereOf = ({ where, source }) => (where?.file ? `${where.file}:${where.line}` : source.split(" ")[1]);

function Row({ rule, index, acts }) {
  const [remark] = rule.remarks ?? [];
  return html`<div role="gridcell" class="cell">
      <div class="one"><span class="number">${index + 1}</span> <b>${bdi(rule.name)}</b></div>
      <div class="two">${bdi(whereOf(rule))}${rule.added && html` <span class="flag neutral">added</span>`}</div></div>
    <div role="gridcell" class="cell">
      <div class="one"><a href=${address(["calls"], { q: ruleFilter(rule.name) })}>${plural(rule.hits, "hit")}</a></div>
      <div class="two">${rule.last_call ? html`last <${CallLink} number=${rule.last_call} />` : timesOf(rule)}</div></div>
    <div role="gridcell" class="cell does"><div class="one">${bdi(stated(rule.spec?.when) || "any call")}</div>
      <div class="two">${remark ? html`<span class="remark">${visible(remark)}</span>`
        : html`→ ${bdi(stated(rule.spec?.then) || "changes delivery only")}`}</div></div>
    <div role="gridcell" class="cell acts">${acts}</div>`;
}

const ruleFilter = (name) => (/[\s"]/.test(name) ? `rule:"${name.replaceAll('"', "")}"` : `rule:${name}`);
const timesOf = (rule) => (rule.spec?.times ? `times ${rule.spec.times}` : rule.counts ? "counts calls" : "");

const stated = (table) =>
  Object.entries(table ?? {}).map(([name, value]) => `${name} ${shown(value)}`).join(", ");

const shown = (value) =>
  typeof value === "string" ? JSON.stringify(value) : JSON.stringify(value).replaceAll('"', "").replace(/^\{(.*)\}$/, "$1");

const Rule = ({ rule, acts }) =>
  html`<section class="rule-open" aria-label=${`Rule ${visible(rule.name)}`}>
    <h3>${bdi(rule.name)} <small>${bdi(whereOf(rule))} · ${plural(rule.hits, "hit")}</small></h3>
    ${rule.remarks?.map((remark, at) => html`<p class="remark" key=${at}>${visible(remark)}</p>`)}
    <pre class="wire">${bdi(rule.text ?? JSON.stringify(rule.spec, null, 2))}</pre>
    <div class="acts">${acts}</div></section>`;
