// The frame of the page.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";

import { locked, setToken, takeToken } from "./api.js";
import { Calls } from "./calls.js";
import { Compare } from "./compare.js";
import { Draft } from "./draft.js";
import * as feed from "./feed.js";
import { Help, helping, start as startKeys } from "./keys.js";
import { count, html, plural, visible } from "./parts.js";
import { Rules } from "./rules.js";
import { Cassette, Server } from "./server.js";
import * as state from "./state.js";
import { address, go, route } from "./url.js";

const VIEWS = new Map([
  ["calls", Calls],
  ["compare", Compare],
  ["rules", Rules],
  ["draft", Draft],
  ["cassette", Cassette],
  ["server", Server],
]);
const TITLES = { calls: "Calls", rules: "Rules", draft: "Draft", cassette: "Cassette", server: "Server" };

function Page() {
  const { view } = route.value;
  if (locked.value !== null) return html`<${Frame} /><${Token} />`;
  return html`<${Frame} /><${Problem} /><main id="view" class="view" tabindex="-1">
    <${VIEWS.get(view)} /></main><${Help} /><${Said} />`;
}

function Frame() {
  const { view } = route.value;
  const counts = { calls: state.total.value, rules: state.rules.value };
  return html`<header class="frame">
    <h1><a href=${address(["calls"], { q: "", ns: "" })}>mockserver</a></h1>
    <nav aria-label="Views">${Object.entries(TITLES).map(
      ([name, title]) => html`<a key=${name} href=${address([name])} aria-current=${view === name ? "page" : undefined}
        >${title}${counts[name] !== undefined && html` <span class="count">${count(counts[name])}</span>`}</a>`,
    )}</nav>
    <label class="namespace">namespace <select value=${state.namespace.value} onChange=${(event) => {
      const { items } = route.value;
      go([view, ...items], { ns: event.target.value }, { replace: true });
    }}><option value="">all</option>${state.namespaces.value.map(
      (name) => html`<option key=${name} value=${name}>${visible(name)}</option>`,
    )}</select></label>
    <${Theme} /><button class="plain" title="Keys and filters (?)" aria-label="Keys and filters"
      onClick=${() => (helping.value = !helping.value)}>?</button><${Connection} />
  </header>`;
}

const THEMES = { "": "system", light: "light", dark: "dark" };

const Theme = () =>
  html`<label class="theme"><span class="hidden">theme</span><select value=${state.theme.value}
    onChange=${(event) => (state.theme.value = event.target.value)}>${Object.entries(THEMES).map(
      ([value, words]) => html`<option key=${value} value=${value}>${words}</option>`,
    )}</select></label>`;

const CONNECTIONS = {
  lost: "disconnected, trying again",
  busy: "too many pages are open",
};

const Connection = () =>
  html`<span class=${`connection ${state.connection.value}`} role="status">${
    CONNECTIONS[state.connection.value] ?? state.connection.value}</span>`;

function Problem() {
  const found = state.problem.value;
  const [hidden, hide] = useState(null);
  const text = found?.mistakes.map((mistake) => mistake.text).join("\n");
  if (!text || hidden === text) return null;
  return html`<div class="problem" role="alert"><pre>${visible(text)}</pre><p>The previous rules stay in effect.</p>
    <button onClick=${() => hide(text)}>Hide</button></div>`;
}

function Token() {
  const save = (event) => {
    event.preventDefault();
    setToken(event.target.elements.token.value.trim());
    location.reload();
  };
  return html`<main class="view token"><form onSubmit=${save}><h2>This server requires a token</h2>
    <p>${locked.value} You can also append <code>#token=TOKEN</code> to the URL.</p>
    <label>Token <input name="token" type="password" autocomplete="off" required /></label>
    <button class="main">Open</button></form></main>`;
}

/** For screen readers: notices at once, new calls every five seconds. */
function Said() {
  const [words, setWords] = useState("");
  useEffect(() => {
    const timer = setInterval(() => {
      const fresh = feed.arrivedCalls();
      setWords(fresh ? `${plural(fresh, "new call")}` : "");
    }, 5000);
    return () => clearInterval(timer);
  }, []);
  return html`<p class=${state.notice.value ? "notice" : "hidden"} role="status">${visible(state.notice.value)}</p>
    <p class="hidden" role="status">${words}</p>`;
}

takeToken();
route.subscribe(({ view, items }) => {
  document.title = `${view === "calls" && items[0] ? `#${items[0]}` : (TITLES[view] ?? "Compare")} · mockserver`;
});
render(html`<${Page} />`, document.getElementById("app"));
startKeys();
feed.start();
