// A server of one's own: `mockserver serve` as a child process on a free port.

import { spawn } from "node:child_process";

import { Mockserver, MockserverError } from "./index.js";

const LISTENS = /^mockserver listens on (http:\/\/\S+)/m;
const KEPT = 100_000; // characters of what the server says
const GRACE = 10_000; // milliseconds that it gets to stop

export class Server extends Mockserver {
  #child;
  #said;

  constructor(address, { token, child, said }) {
    super(address, { token });
    this.#child = child;
    this.#said = said;
  }

  get pid() {
    return this.#child.pid;
  }

  /** What the server has written to stderr: warnings, and why a reload failed. */
  get log() {
    return this.#said();
  }

  /** Stop the server. Answers that are being sent get three seconds. */
  async stop() {
    await stopped(this.#child);
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.stop();
  }
}

/** Start a server with these rules files and flags of `mockserver serve`; resolves once it listens. */
export async function startServer({ rules = [], args = [], command = ["mockserver"], timeout = 30_000, ...more } = {}) {
  const [program, ...first] = [command].flat();
  const { cwd, env = process.env, token } = more;
  const words = [...first, "serve", ...[rules].flat(), "--port", "0", ...args];
  const child = spawn(program, words, { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  let text = "";
  try {
    const address = await listening(child, timeout, (piece) => (text = (text + piece).slice(-KEPT)));
    child.stderr.unref?.();
    child.unref();
    return new Server(address, { token, child, said: () => text });
  } catch (error) {
    process.off("exit", kill);
    await stopped(child);
    throw error;
  }
}

function listening(child, timeout, hear) {
  return new Promise((resolve, reject) => {
    let said = "";
    const fail = (why, cause) => reject(new MockserverError(`mockserver did not start: ${why}`, { cause }));
    const timer = setTimeout(() => fail(`it said nothing for ${timeout} ms\n${said}`), timeout);
    child.once("error", (error) => {
      const missing = `there is no program ${child.spawnfile}; activate the Python environment that has it, or give a \`command\``;
      fail(error.code === "ENOENT" ? missing : error.message, error);
    });
    child.once("close", (code) => fail(`exit code ${code}\n${said}`));
    child.stderr.setEncoding("utf8").on("data", (piece) => {
      said = hear(piece);
      const found = LISTENS.exec(said);
      if (!found) return;
      clearTimeout(timer);
      resolve(found[1]);
    });
    child.once("close", () => clearTimeout(timer));
    child.once("error", () => clearTimeout(timer));
  });
}

async function stopped(child) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once("exit", done));
  child.ref();
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), GRACE);
  await ended;
  clearTimeout(timer);
}
