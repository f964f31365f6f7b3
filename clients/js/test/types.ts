// What TypeScript accepts and refuses; `tsc --strict` reads it, nothing runs it.
import { type Call, Mockserver, MockserverError, type Rule } from "mockserver-llm";
import { type Server, startServer } from "mockserver-llm/server";

export async function accepted(): Promise<string[]> {
  const server: Server = await startServer({ rules: ["a.yaml"], command: ["python", "-m", "mockserver"] });
  const mock = server.namespace();
  await mock.rule({ last_user: "*weather*", "param.temperature": { lt: 0.5 } }, { text: "Sunny." }, { times: 2 });
  await mock.rule({ any: [{ attempt: 1 }, { not: { stream: true } }] }, { error: 429, retry_after: "2s" });
  const rules: Rule[] = [
    { then: { tool_calls: [{ name: "get_weather", arguments: { city: "Oslo" } }], finish: "tool_calls" } },
    { then: { steps: [{ text: "a" }, { error: { status: 503, message: "Busy" } }] }, state: { is: "start" } },
    { when: { model: ["gpt-4o", "o3*"] }, then: { text: "b", faults: ["cut", { stall: { after_tokens: 3 } }] } },
  ];
  const names: string[] = await mock.addRules(rules, { replace: true });
  const [call]: Call[] = await mock.waitForCalls(1, { unmatched: true, timeout: 100 });
  const near = (await mock.call(call.call)).nearest?.map((rule) => rule.findings[0]?.field ?? rule.name) ?? [];
  const cassette: string | null = (await mock.playCassette(null)).name;
  await new Mockserver("http://127.0.0.1:8000", { token: "t" }).ready({ timeout: 1000 });
  await server.stop();
  return [...names, ...near, cassette ?? "none", mock.baseURL("anthropic")];
}

export async function refused(mock: import("mockserver-llm").Namespace, error: MockserverError): Promise<void> {
  // @ts-expect-error: a misspelt field
  await mock.rule({ last_usr: "a" }, { text: "b" });
  // @ts-expect-error: a misspelt answer
  await mock.rule({ last_user: "a" }, { txt: "b" });
  // @ts-expect-error: a tool call without a name
  await mock.rule({}, { tool_calls: [{ arguments: {} }] });
  // @ts-expect-error: no such dialect
  mock.baseURL("openia");
  // @ts-expect-error: no such filter
  await mock.calls({ unmatchd: true });
  // @ts-expect-error: undefined where the server did not answer
  const status: number = error.status;
  await mock.setState(String(status));
}
