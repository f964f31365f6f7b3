import { spawn } from "node:child_process";
import { once } from "node:events";
import { test as base } from "@playwright/test";
import { startServer } from "mockserver-llm/server";

// A server and an app for each worker: the app's process gets its base URL when it starts.
export const test = base.extend({
  space: [
    async ({}, use) => {
      const server = await startServer({ args: ["--unmatched", "error"] });
      await use(server.namespace("default"));
      await server.stop();
    },
    { scope: "worker" },
  ],
  app: [
    async ({ space }, use) => {
      const env = { ...process.env, ...space.environment() };
      const child = spawn(process.execPath, ["app.js"], { cwd: import.meta.dirname, env });
      child.stderr.pipe(process.stderr);
      const [line] = await once(child.stdout, "data");
      await use(String(line).trim());
      child.kill();
    },
    { scope: "worker" },
  ],
  mock: async ({ space }, use) => {
    await use(space);
    await space.reset();
  },
});
