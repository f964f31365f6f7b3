// Why a call got its answer.
import { useState } from "preact/hooks";

import { post } from "./api.js";
import { Action, Text, bdi, html, marked, plural, shown, source, visible } from "./parts.js";
import { unmatched } from "./query.js";
import { address, go } from "./url.js";

export function Why({ call }) {
  const [all, setAll] = useState(null);
  const missed = unmatched(call);
  return html`<${Verdict} call=${call} missed=${missed} />
    ${call.findings && html`<div class="rule-found"><${Findings} findings=${call.findings} /></div>`}
    <${Details} call=${call} />
    ${call.before?.length > 0 && html`<h3>Matched, but did not answer</h3><ul>${call.before.map(
      (each, at) => html`<li key=${at}><${RuleName} rule=${each} />${each.why && `: ${visible(each.why)}`}</li>`,
    )}</ul>`}
    ${call.remarks?.map((remark, at) => html`<p class="remark" key=${at}>${visible(remark)}</p>`)}
    ${call.nearest?.length > 0 && html`<h3>${missed ? "Nearest rules" : "Other rules"}</h3>${call.nearest.map(
      (rule, at) => html`<${Near} key=${at} rule=${rule} call=${call} />`,
    )}`}
    <div>${all ? html`<${All} rules=${all} />` : html`<${Action} label="Compare with all rules" run=${async () => {
      const found = await post("explain", { call: call.call, limit: 50 });
      setAll(found.rules ?? found.prompts.flatMap((prompt) => prompt.rules));
    }} />`}</div>`;
}

const SENTENCES = {
  generated: "No rule answered; the answer was generated.",
  unmatched: "No rule answered, and the setting unmatched refuses such calls.",
  crashed: "mockserver itself failed on the call; its log has the traceback.",
  invalid: "The request is invalid, so the provider's own error answered it.",
  limited: "A limit refused the call before any rule was tried.",
  forwarded: "The call was sent upstream.",
  budget: "The run had made as many calls as it may.",
  stored: "The answer comes from what earlier calls stored.",
};

function Verdict({ call, missed }) {
  const from = source(call.source);
  const words = SENTENCES[from.kind] ?? (missed && SENTENCES.unmatched);
  const now = call.now && html`<p class="remark">The rules have changed since: now ${bdi(call.now)} would answer.</p>`;
  if (words) {
    const said = call.defect ?? (!missed && call.answer?.error?.message);
    return html`<p class="verdict">${words}${missed && call.tried > 0 && ` ${plural(call.tried, "rule")} tried.`}</p>
      ${said && html`<blockquote><${Text} value=${said} /></blockquote>`}${now}`;
  }
  const isRule = from.kind === "rule";
  return html`<p class="verdict">${call.defect ? "Failed in" : "Answered by"} ${isRule && "rule "}<b>${bdi(from.name)}</b>${
      from.place && html` at ${bdi(from.place, "place")}`}${
      call.tried > 1 && `, after ${plural(call.tried - 1, "other rule")}`}.${isRule && html` <a href=${
      address(["rules", from.name])}>Show the rule</a>`}</p>${
      call.defect && html`<blockquote><${Text} value=${call.defect} /></blockquote>`}${now}`;
}

function Details({ call }) {
  const lists = { Through: call.through, "Delivery changed by": call.modified_by, Faults: call.faults };
  const known = Object.entries(lists).filter(([, list]) => list?.length);
  return known.length > 0 && html`<dl class="facts-list">${known.map(
    ([name, list]) => html`<dt key=${name}>${name}</dt><dd>${bdi(list.join(", "))}</dd>`,
  )}</dl>`;
}

const RuleName = ({ rule }) => html`${bdi(rule.where ?? rule.source, "place")} <b>${bdi(rule.name)}</b>`;

function Near({ rule, call }) {
  const { findings = [], change } = rule;
  const held = findings.filter((each) => each.ok).length;
  return html`<section class="rule-found"><h4><${RuleName} rule=${rule} /> <small>${rule.why
      ? `matches, but ${visible(rule.why)}`
      : `${held} of ${plural(findings.length, "condition")} ${findings.length === 1 ? "holds" : "hold"}`}</small></h4>
    <${Findings} findings=${findings} />
    ${change && html`<p class="change">It would match with <code>${bdi(change)}</code> <button onClick=${
      () => go(["draft"], { from: call.call, rule: rule.name, change })}>Put into a draft</button></p>`}</section>`;
}

const Findings = ({ findings }) =>
  html`<table class="findings"><tbody>${findings.map(
    (each, at) => html`<${Finding} key=${at} finding=${each} />`,
  )}</tbody></table>`;

function Finding({ finding }) {
  const { field, predicate, expected, ok, hint, ignoring, actual, span, from } = finding;
  return html`<tr class=${ok ? "holds" : "misses"}><td class="mark">${ok ? "✓ holds" : "✗ misses"}</td>
    <td><b>${bdi(field)}</b> ${visible(predicate)}${ignoring && html` <small>(${ignoring.join(", ")})</small>`}</td>
    <td class="values"><div>${bdi(shown(expected))}</div>${!ok && html`<div class="got"><small>got</small> ${
      span && from && "…"}${marked(actual, span)}</div>`}${hint && html`<div class="hint">${visible(hint)}</div>`}</td></tr>`;
}

const All = ({ rules }) =>
  html`<h3>${plural(rules.length, "rule")}, as they are now</h3>${rules.map((rule, at) => html`<details class="rule-found"
    key=${at}><summary><${RuleName} rule=${rule} /> <small>${visible(rule.verdict)}</small></summary>
    <${Findings} findings=${rule.findings} /></details>`)}`;
