import { beforeEach, expect, test } from "@jest/globals";
import { Mockserver } from "mockserver-llm";
import { greet } from "./app.js";

let mock;

beforeEach(() => {
  mock = new Mockserver().namespace();
  Object.assign(process.env, mock.environment()); // what clients read that are created from now on
});

test("it greets", async () => {
  await mock.rule({ last_user: "*Ada*" }, { text: "Hello, Ada!" });
  expect(await greet("Ada")).toBe("Hello, Ada!");
  expect(await mock.calls()).toMatchObject([{ dialect: "anthropic", status: 200 }]);
});

test("it tries again", async () => {
  await mock.rule({ attempt: 1 }, { error: 529, retry_after: 0.01 });
  await mock.rule({ attempt: 2 }, { text: "Hello, Bob!" });
  expect(await greet("Bob")).toBe("Hello, Bob!");
  expect((await mock.calls()).map((call) => call.status)).toEqual([529, 200]);
});
