// A list of any length: rows of one height; those in view and the active one are in the document.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { html } from "./parts.js";

const EXTRA = 4;

/** `onEnd` is called with whether the end is in view when the user scrolls; with `follow` it stays in view. */
export function List({ items, height, render, active = -1, id, label, columns, follow, ...handlers }) {
  const { onActive, onFirst, onOpen, onEnd, onView } = handlers;
  const box = useRef(null);
  const [view, setView] = useState({ top: 0, size: 600 });
  const look = () => {
    if (!box.current) return;
    const { scrollTop, clientHeight } = box.current;
    setView((old) => (old.top === scrollTop && old.size === clientHeight ? old : { top: scrollTop, size: clientHeight }));
  };

  useLayoutEffect(() => {
    const seen = new ResizeObserver(look);
    seen.observe(box.current);
    return () => seen.disconnect();
  }, []);

  useLayoutEffect(() => {
    const { current } = box;
    if (follow) current.scrollTop = current.scrollHeight;
    look();
  }, [items.length, follow, view.size]);

  useLayoutEffect(() => {
    if (active < 0) return;
    const { current } = box;
    const top = active * height;
    if (top < current.scrollTop) current.scrollTop = top;
    else if (top + height > current.scrollTop + current.clientHeight) current.scrollTop = top + height - current.clientHeight;
    look();
  }, [active]);

  const from = Math.max(0, Math.floor(view.top / height) - EXTRA);
  const to = Math.min(items.length, Math.ceil((view.top + view.size) / height) + EXTRA);
  useEffect(() => onView?.(items.slice(from, to)), [items, from, to]);

  const indexes = [];
  for (let at = from; at < to; at++) indexes.push(at);
  if (active >= 0 && active < items.length && (active < from || active >= to)) indexes.push(active);

  const scrolled = () => {
    if (!box.current) return;
    look();
    const { scrollTop, clientHeight, scrollHeight } = box.current;
    onEnd?.(scrollTop + clientHeight >= scrollHeight - height / 2);
  };
  const rowAt = (event) => Number(event.target.closest("[data-at]")?.dataset.at ?? -1);
  const pressed = (event) => {
    const moves = { ArrowDown: active + 1, ArrowUp: active < 0 ? items.length - 1 : active - 1, Home: 0, End: items.length - 1 };
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter" && active >= 0 && event.target === box.current) onOpen?.(active);
    else if (event.key === "Home" && onFirst) onFirst();
    else if (event.key in moves) onActive?.(Math.max(0, Math.min(items.length - 1, moves[event.key])));
    else return;
    event.preventDefault();
  };

  return html`<div class="list" role="grid" tabindex="0" id=${id} ref=${box} aria-label=${label} aria-rowcount=${items.length}
      aria-colcount=${columns} aria-activedescendant=${active >= 0 ? `${id}-${active}` : undefined}
      onScroll=${scrolled} onKeyDown=${pressed} onClick=${(event) => {
        const at = rowAt(event);
        if (at >= 0 && !event.target.closest("button, a")) onOpen?.(at);
      }}>
    <div class="space" role="rowgroup" style=${{ height: `${items.length * height}px` }}>${indexes.map(
      (at) => html`<div key=${at} id=${`${id}-${at}`} data-at=${at} role="row" aria-rowindex=${at + 1}
        aria-selected=${at === active} class="row" style=${{ top: `${at * height}px`, height: `${height}px` }}
        >${render(items[at], at)}</div>`,
    )}</div>
  </div>`;
}
