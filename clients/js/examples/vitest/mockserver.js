// One server for all test files.
import { startServer } from "mockserver-llm/server";

export default async function setup() {
  const server = await startServer({ args: ["--unmatched", "error"] });
  process.env.MOCKSERVER_URL = server.address; // for the workers, which start later
  return () => server.stop();
}
