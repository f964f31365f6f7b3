import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Mockserver, MockserverError, PATHS } from "../index.js";
import { startServer } from "../server.js";

const command = (process.env.MOCKSERVER_COMMAND ?? "mockserver").split(" ");
const folder = mkdtempSync(join(tmpdir(), "mockserver-js-"));
const RULES = `
version: 1
rules:
  - name: greeting
    when: {last_user: "hello"}
    then: {text: "Hi!"}
  - name: slow
    when: {last_user: "slowly"}
    then: {text: "one two three", timing: {first_token: 300ms}}
`;
let server;

before(async () => {
  writeFileSync(join(folder, "rules.yaml"), RULES);
  server = await startServer({ command, cwd: folder, rules: "rules.yaml", args: ["--unmatched", "error"] });
});

after(() => server?.stop());

async function said(space, text) {
  const body = JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: text }] });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${space.baseURL()}/chat/completions`, { method: "POST", headers, body });
  return answer.ok ? (await answer.json()).choices[0].message.content : answer.status;
}

test("the server is ready with the rules of its file", async () => {
  const ready = await server.ready();
  assert.deepEqual([ready.status, ready.files, ready.rules], ["ready", ["rules.yaml"], 2]);
  assert.match(server.log, /2 rules from rules.yaml; unmatched: error/);
});

test("rules and calls are those of a namespace", async () => {
  const [one, other] = [server.namespace(), server.namespace()];
  assert.equal(await one.rule({ last_user: "*weather*" }, { text: "Sunny." }, { name: "weather" }), "weather");
  assert.equal(await said(one, "How is the weather?"), "Sunny.");
  assert.equal(await said(one, "hello"), "Hi!");
  assert.equal(await said(other, "How is the weather?"), 404);
  assert.deepEqual(
    (await one.calls()).map((call) => call.source),
    ["rule api weather", "rule rules.yaml:4 greeting"],
  );
  assert.deepEqual(await other.calls({ unmatched: false, status: 200 }), []);
  const [missed] = await other.calls({ unmatched: true });
  const detail = await other.call(missed.call);
  assert.equal(detail.request.body.messages[0].content, "How is the weather?");
  assert.equal(detail.nearest[0].name, "greeting");
});

test("a namespace may have any name but one with a slash", async () => {
  const space = server.namespace("it greets: ü, 100% & more?");
  assert.equal(await said(space, "hello"), "Hi!");
  assert.equal((await space.calls()).length, 1);
  assert.throws(() => server.namespace("a/b"), MockserverError);
  assert.equal(server.namespace("default").baseURL(), `${server.address}/openai/v1`);
});

test("rules are listed, replaced and removed", async () => {
  const space = server.namespace();
  const names = await space.addRules([
    { name: "a", when: { last_user: "a" }, then: { text: "1" } },
    { when: { last_user: "a" }, then: { text: "2" } },
  ]);
  assert.deepEqual(names, ["a", "added 1"]);
  assert.equal(await said(space, "a"), "1");
  await assert.rejects(space.rule({}, { text: "3" }, { name: "a" }), { status: 409, name: "MockserverError" });
  await space.addRules([{ name: "a", when: { last_user: "a" }, then: { text: "3" } }], { replace: true });
  assert.equal(await said(space, "a"), "3");
  assert.deepEqual(await space.removeRules("a"), ["a"]);
  assert.equal(await said(space, "a"), "2");
  assert.deepEqual((await space.rules()).map((rule) => [rule.name, rule.added, rule.hits]).slice(0, 2), [
    ["added 1", true, 1],
    ["greeting", false, 0],
  ]);
  assert.deepEqual(await space.removeRules(), ["added 1"]);
  assert.equal(await said(space, "a"), 404);
});

test("a mistake in a rule says where it is", async () => {
  const error = await server.namespace().rule({ last_usr: "a" }, { text: "b" }).catch((found) => found);
  assert.ok(error instanceof MockserverError);
  assert.equal(error.status, 400);
  assert.match(error.message, /last_usr.*last_user/s);
  assert.equal(error.mistakes.length, 1);
});

test("it waits for calls until they have ended", async () => {
  const space = server.namespace();
  const answer = said(space, "slowly");
  const [call] = await space.waitForCalls(1, { status: 200 });
  assert.equal(call.ended, "complete");
  assert.ok(call.elapsed_ms >= 300);
  assert.equal(await answer, "one two three");
  const more = space.waitForCalls(2, { timeout: 50 });
  await assert.rejects(more, /^MockserverError: 1 of 2 calls came within 50 ms\n {2}\d+ POST/);
});

test("reset clears one namespace, or all", async () => {
  const [one, other] = [server.namespace(), server.namespace()];
  for (const space of [one, other]) {
    await space.rule({}, { text: "!" });
    await space.setState("paid");
    await said(space, "a");
  }
  await one.reset();
  assert.deepEqual([(await one.state()).state, (await one.calls()).length, await said(one, "a")], ["start", 0, 404]);
  assert.deepEqual([(await other.state()).state, (await other.calls()).length], ["paid", 1]);
  await other.forgetCalls();
  assert.deepEqual([(await other.state()).state, await other.calls()], ["paid", []]);
  await server.reset();
  assert.equal((await other.state()).rules_added, 0);
});

test("timing and cassettes are set for a namespace", async () => {
  const space = server.namespace();
  await space.setTiming(false);
  await said(space, "slowly");
  assert.ok((await space.calls())[0].elapsed_ms < 250);
  assert.equal((await space.playCassette(null)).name, null);
  await assert.rejects(space.playCassette("missing"), { status: 400 });
});

test("base URLs are those that the server names", async () => {
  const { base_urls } = await (await fetch(server.address)).json();
  const space = server.namespace("default");
  assert.deepEqual(Object.fromEntries(Object.keys(PATHS).map((name) => [name, space.baseURL(name)])), base_urls);
  assert.throws(() => space.baseURL("openia"), /there is no dialect "openia"; there are anthropic, /);
});

test("the variables lead to the namespace", async () => {
  const space = server.namespace("led");
  const found = space.environment("sk-mine");
  assert.equal(found.OPENAI_BASE_URL, `${server.address}/ns/led/openai/v1`);
  assert.equal(found.MOCKSERVER_URL, server.address);
  const names = Object.keys(found);
  assert.deepEqual(
    names.filter((name) => found[name] === "sk-mine"),
    names.filter((name) => name.endsWith("_KEY")),
  );
  const print = `process.stdout.write(JSON.stringify(${JSON.stringify(names)}.map((name) => process.env[name])))`;
  const run = [...command.slice(1), "run", "--keys", "sk-mine", "--", process.execPath, "-e", print];
  const child = spawnSync(command[0], run, { cwd: folder, encoding: "utf8" });
  const theirs = JSON.parse(child.stdout).map((value) => value?.replace(/^http:\/\/[^/]+/, "ADDRESS"));
  const ours = Object.values(server.namespace("default").environment("sk-mine"));
  assert.deepEqual(theirs, ours.map((value) => value.replace(/^http:\/\/[^/]+/, "ADDRESS")));
});

test("a server that does not start says why", async () => {
  writeFileSync(join(folder, "wrong.yaml"), "rules: 7\n");
  const wrong = startServer({ command, cwd: folder, rules: "wrong.yaml" });
  await assert.rejects(wrong, /mockserver did not start: exit code 2\n.*wrong.yaml:1:8/s);
  const missing = startServer({ command: "no-such-program" });
  await assert.rejects(missing, /there is no program no-such-program; activate the Python environment/);
});

test("a server stops, and then nobody answers", async () => {
  const env = { ...process.env, MOCKSERVER_CONTROL_TOKEN: "secret" };
  const mine = await startServer({ command, cwd: folder, env, token: "secret" });
  assert.equal((await mine.ready()).rules, 2); // rules.yaml of the folder
  assert.deepEqual(await mine.namespace().calls(), []);
  await assert.rejects(new Mockserver(mine.address, { token: "wrong" }).namespace().calls(), { status: 401 });
  await mine.stop();
  await mine.stop();
  await assert.rejects(mine.namespace().calls(), /no mockserver answers at http:.*; start one, or set MOCKSERVER_URL/);
  await assert.rejects(mine.ready({ timeout: 50 }), MockserverError);
});

test("a program that forgets to stop its server ends, and so does the server", async () => {
  const script = `
    import { startServer } from ${JSON.stringify(new URL("../server.js", import.meta.url).href)};
    const server = await startServer({ command: ${JSON.stringify(command)} });
    console.log(server.address);
  `;
  const options = { cwd: folder, encoding: "utf8", timeout: 15_000 };
  const done = spawnSync(process.execPath, ["--input-type=module", "-e", script], options);
  assert.equal(done.status, 0, done.stderr);
  await assert.rejects(fetch(done.stdout.trim()), /fetch failed/);
});

test("types name what the modules export", async () => {
  for (const name of ["index", "server"]) {
    const declared = readFileSync(new URL(`../${name}.d.ts`, import.meta.url), "utf8");
    const exported = Object.keys(await import(`../${name}.js`)).sort();
    const found = [...declared.matchAll(/^export declare (?:class|const|function) (\w+)/gm)].map((each) => each[1]);
    assert.deepEqual(found.sort(), exported);
  }
});
