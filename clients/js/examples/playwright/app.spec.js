import { expect } from "@playwright/test";
import { test } from "./fixture.js";

test("it greets", async ({ page, app, mock }) => {
  await mock.rule({ last_user: "*Ada*" }, { text: "Hello, Ada!" });
  await page.goto(app);
  await page.getByLabel("name").fill("Ada");
  await page.getByRole("button").click();
  await expect(page.getByRole("status")).toHaveText("Hello, Ada!");
  const [call] = await mock.waitForCalls(1);
  expect(call).toMatchObject({ dialect: "gemini", model: "gemini-2.5-flash", status: 200 });
});

test("it says that it can't", async ({ page, app, mock }) => {
  await mock.rule({}, { error: 503 });
  await page.goto(app);
  await page.getByRole("button").click();
  await expect(page.getByRole("status")).toHaveText("Sorry, I can't greet now (503).");
});
