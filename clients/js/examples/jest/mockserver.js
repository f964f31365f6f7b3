// One server for all test files.
import { startServer } from "mockserver-llm/server";

export default async function setup() {
  globalThis.mockserver = await startServer({ args: ["--unmatched", "error"] });
  process.env.MOCKSERVER_URL = globalThis.mockserver.address; // for the workers, which start later
}
