import { defineConfig } from "@playwright/test";

// CHROMIUM: a browser that is installed already, instead of the one of `npx playwright install chromium`.
export default defineConfig({ use: { launchOptions: { executablePath: process.env.CHROMIUM } } });
