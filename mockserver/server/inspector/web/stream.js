// A streamed answer, frame by frame.
import { useState } from "preact/hooks";

import { List } from "./list.js";
import { Json, Text, bdi, count, html, jsonIn, ms, plural, visible } from "./parts.js";

const [WIDTH, HEIGHT] = [1000, 34];

export function Stream({ call }) {
  const frames = call.reply?.frames ?? [];
  const [chosen, choose] = useState(Infinity);
  if (!frames.length) return html`<p class="aside">No frame was sent.</p>`;
  const at = Math.min(chosen, frames.length - 1);
  const span = Math.max(frames.at(-1).at_ms, call.elapsed_ms ?? 0, 1);
  const pick = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const wanted = ((event.clientX - box.left) / box.width) * span;
    choose(nearest(frames, wanted));
  };
  return html`<p class="facts">${facts(call, frames).map((fact, index) => html`<span key=${index}>${fact}</span>`)}</p>
    <div class="timeline"><svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" onClick=${pick}
        onPointerMove=${(event) => event.buttons && pick(event)}
        aria-label=${`${plural(frames.length, "frame")} over ${ms(span)}`}>
      <path class="base" d=${`M0 ${HEIGHT - 1}H${WIDTH}`} /><path class="ticks" d=${ticks(frames, span)} />
      <path class="here" d=${`M${place(frames[at], span)} 0V${HEIGHT}`} /></svg>
      <div class="scale"><span>0</span><span>${ms(span / 2)}</span><span>${ms(span)}</span></div></div>
    <div class="frames"><div class="frames-list">
      <div class="columns"><span>#</span><span>at</span><span>gap</span><span>adds</span></div>
      <${List} id="frames" label="Frames" items=${frames} height=${26} active=${at} columns=${4} onActive=${choose}
        onOpen=${choose} render=${(frame, index) => html`<div role="gridcell">${index + 1}</div>
          <div role="gridcell">${ms(frame.at_ms)}</div>
          <div role="gridcell" class=${gap(frames, index) > 300 ? "long" : ""}>${ms(gap(frames, index))}</div>
          <div role="gridcell" class="adds">${bdi(adds(frame).slice(0, 200))}</div>`} /></div>
      <div class="one-frame"><h3>Frame ${at + 1} ${frames[at].event && html`<small>${bdi(frames[at].event)}</small>`}${
        frames[at].whole === false && html` <small class="torn">cut short</small>`}</h3>
        <div class="json"><${Data} value=${frames[at].data} /></div>
        ${frames.some((frame) => frame.adds) && html`<h3>Text so far</h3><div class="text"><${Text} key=${at}
          value=${frames.slice(0, at + 1).map((frame) => frame.adds ?? "").join("")} limit=${2000} /></div>`}</div></div>`;
}

const place = (frame, span) => Math.round((frame.at_ms / span) * WIDTH * 10) / 10;
const gap = (frames, at) => frames[at].gap_ms ?? frames[at].at_ms - (at ? frames[at - 1].at_ms : 0);
const adds = (frame) => frame.adds ?? frame.event ?? (typeof frame.data === "string" ? frame.data : "");

/** All ticks as one path; those that would fall on the same place are joined. */
function ticks(frames, span) {
  const places = new Set(frames.map((frame) => place(frame, span)));
  return [...places].map((x) => `M${x} 6V${HEIGHT - 4}`).join("");
}

function nearest(frames, wanted) {
  const far = (at) => Math.abs(frames[at].at_ms - wanted);
  return frames.reduce((best, _, at) => (far(at) < far(best) ? at : best), 0);
}

function facts(call, frames) {
  const gaps = frames.map((_, at) => gap(frames, at)).slice(1).sort((one, other) => one - other);
  return [
    `first frame ${ms(frames[0].at_ms)}`,
    plural(frames.length, "frame"),
    gaps.length > 0 && `gap p50 ${ms(gaps[Math.floor(gaps.length / 2)])}, max ${ms(gaps.at(-1))}`,
    call.faults?.length > 0 && `faults ${call.faults.map(visible).join(", ")}`,
    call.reply.cut_off && `kept ${visible(call.reply.cut_off)}`,
    visible(call.ended === "open" ? `open, ${count(frames.length)} so far` : call.ended),
  ].filter(Boolean);
}

function Data({ value }) {
  const found = typeof value === "string" ? jsonIn(value) : value;
  return found ? html`<${Json} value=${found} depth=${-3} />` : html`<${Text} value=${String(value)} />`;
}
