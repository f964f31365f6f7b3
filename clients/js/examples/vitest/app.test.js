import OpenAI from "openai";
import { expect } from "vitest";
import { greet } from "./app.js";
import { test } from "./fixture.js";

test("it greets", async ({ mock }) => {
  await mock.rule({ last_user: "*Ada*" }, { text: "Hello, Ada!" });
  const client = new OpenAI({ baseURL: mock.baseURL(), apiKey: "any" });
  expect(await greet(client, "Ada")).toBe("Hello, Ada!");
  expect(await mock.calls()).toMatchObject([{ model: "gpt-4o", status: 200, source: "rule api added 1" }]);
});

test("it tries again", async ({ mock }) => {
  await mock.rule({ attempt: 1 }, { error: 503, retry_after: 0.01 });
  await mock.rule({ attempt: 2 }, { text: "Hello, Bob!" });
  const client = new OpenAI({ baseURL: mock.baseURL(), apiKey: "any" });
  expect(await greet(client, "Bob")).toBe("Hello, Bob!");
  expect((await mock.calls()).map((call) => call.status)).toEqual([503, 200]);
});
