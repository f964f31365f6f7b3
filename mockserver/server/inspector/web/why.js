// Why a call got its answer: the conditions of the rule that answered, or the rules that came nearest and how they differ.
import { useState } from "preact/hooks";

import { post } from "./api.js";
import { Action, Text, html, plural, source, visible } from "./parts.js";
import { unmatched } from "./query.js";
import { address, go } from "./url.js";

export function Why({ call }) {
  const [all, setAll] = useState(null);
  const missed = unmatched(call);
  return html`<${Verdict} call=${call} missed=${missed} />
    ${call.findings && html`<div class="rule-found"><${Findings} findings=${call.findings} /></div>`}
    ${[call.through, call.bent_by, call.faults].some((list) => list?.length) && html`<${Details} call=${call} />`}
    ${call.before?.length > 0 && html`<h3>Matched, but did not answer</h3><ul class="plain">${call.before.map((each, at) =>
      html`<li key=${at}><${RuleName} rule=${each} />${each.why && html`: ${visible(each.why)}`}</li>`)}</ul>`}
    ${(call.remarks ?? []).map((remark, at) => html`<p class="remark" key=${at}>${visible(remark)}</p>`)}
    ${call.nearest?.length > 0 && html`<h3>${missed ? "Nearest rules" : "Other rules"}</h3>${call.nearest.map(
      (rule, at) => html`<${Near} key=${at} rule=${rule} call=${call} />`)}`}
    <p>${all ? html`<${All} rules=${all} />` : html`<${Action} label="Compare with all rules" run=${async () => {
      const found = await post("explain", { call: call.call, limit: 50 });
      setAll(found.rules ?? found.prompts.flatMap((prompt) => prompt.rules));
    }} />`}</p>`;
}

const SENTENCES = {
  generated: "No rule answered; the answer was generated.",
  unmatched: "No rule answered, and the setting unmatched refuses such calls.",
  invalid: "The request is invalid, so the provider's own error answered it.",
  limited: "A limit refused the call before any rule was tried.",
  forwarded: "The call was sent upstream.",
  stored: "The answer comes from what earlier calls stored.",
};

function Verdict({ call, missed }) {
  const from = source(call.source);
  const now = call.now && html`<p class="remark">The rules have changed since: now it would be answered by <bdi>${
    visible(typeof call.now === "string" ? call.now : call.now.source)}</bdi>.</p>`;
  const words = missed && !SENTENCES[from.kind] ? SENTENCES.unmatched : SENTENCES[from.kind];
  const tried = typeof call.tried === "number" ? call.tried : call.tried?.length;
  if (words) {
    const error = call.answer?.error;
    const said = error?.message ?? error?.error?.message;
    return html`<p class="verdict">${words}${tried > 0 && missed && ` ${plural(tried, "rule")} tried.`}</p>
      ${from.kind !== "generated" && said && html`<blockquote><${Text} value=${said} /></blockquote>`}${now}`;
  }
  return html`<p class="verdict">Answered by ${from.kind === "rule" ? "rule " : ""}<b><bdi>${visible(from.name)}</bdi></b>${
    from.place && html` at <bdi class="place">${visible(from.place)}</bdi>`}${
    tried > 1 && `, the last of ${tried} rules tried`}.${from.kind === "rule" && html` <a href=${address(["rules", ruleName(call.source)])}>Show the rule</a>`}</p>${now}`;
}

const ruleName = (text) => source(text).name;

const Details = ({ call }) =>
  html`<dl class="facts-list">
    ${call.through?.length > 0 && html`<dt>Through</dt><dd><bdi>${visible(call.through.join(", "))}</bdi></dd>`}
    ${call.bent_by?.length > 0 && html`<dt>Delivery changed by</dt><dd><bdi>${visible(call.bent_by.join(", "))}</bdi></dd>`}
    ${call.faults?.length > 0 && html`<dt>Faults</dt><dd>${call.faults.map(visible).join(", ")}</dd>`}</dl>`;

const RuleName = ({ rule }) =>
  html`<bdi class="place">${visible(rule.where?.file ? `${rule.where.file}:${rule.where.line}` : (rule.where ?? rule.source ?? ""))}</bdi> <b><bdi>${
    visible(rule.name ?? "")}</bdi></b>`;

function Near({ rule, call }) {
  const findings = rule.findings ?? [];
  const held = findings.filter((each) => each.ok).length;
  return html`<section class="rule-found"><h4><${RuleName} rule=${rule} /> <small>${held} of ${plural(findings.length, "condition")
    } ${findings.length === 1 ? "holds" : "hold"}</small></h4><${Findings} findings=${findings} />
    ${rule.change && html`<${Change} rule=${rule} call=${call} />`}</section>`;
}

/** What would make the rule match, as the server proposes it. */
function Change({ rule, call }) {
  const text = typeof rule.change === "string" ? rule.change : (rule.change.text ?? JSON.stringify(rule.change));
  return html`<p class="change">It would match with <code>${visible(text)}</code> <button
    onClick=${() => go(["draft"], { from: call.call, rule: rule.name, change: text })}>Put into a draft</button></p>`;
}

export const Findings = ({ findings }) =>
  html`<table class="findings"><tbody>${findings.map((each, at) => html`<${Finding} key=${at} finding=${each} />`)}</tbody></table>`;

const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function Finding({ finding }) {
  const { field, predicate, expected, actual, ok, hint, ignoring } = finding;
  const [at, size] = finding.span ? [finding.span.at, finding.span.size] : [0, 0];
  const got = shown(actual) ?? "nothing";
  const signs = [...got];
  return html`<tr class=${ok ? "holds" : "misses"}><td class="mark">${ok ? "✓" : "✗"} <span>${ok ? "holds" : "misses"}</span></td>
    <td><b>${visible(field)}</b> ${visible(predicate)}${ignoring?.length > 0 && html` <small>(${ignoring.map(visible).join(", ")})</small>`}</td>
    <td class="values"><div><bdi>${visible(shown(expected) ?? "nothing")}</bdi></div>${!ok && html`<div class="got"><small>got</small> ${
      finding.span
        ? html`<bdi>${visible(signs.slice(0, at).join(""))}<mark>${visible(signs.slice(at, at + Math.max(1, size)).join("")) || "▁"}</mark>${
          visible(signs.slice(at + Math.max(1, size)).join(""))}</bdi>`
        : html`<bdi>${visible(got)}</bdi>`}</div>`}${hint && html`<div class="hint">${visible(hint)}</div>`}</td></tr>`;
}

const All = ({ rules }) =>
  html`<h3>${plural(rules.length, "rule")}, as they stand now</h3>${rules.map((rule, at) => html`<details class="rule-found" key=${at}>
    <summary><${RuleName} rule=${rule} /> <small>${visible(rule.verdict ?? "")}</small></summary><${Findings} findings=${rule.findings} /></details>`)}`;
