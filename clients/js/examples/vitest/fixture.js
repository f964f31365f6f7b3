import { Mockserver } from "mockserver-llm";
import { test as base } from "vitest";

export const test = base.extend({
  mock: async ({}, use) => {
    const mock = new Mockserver().namespace();
    await use(mock);
    await mock.reset();
  },
});
