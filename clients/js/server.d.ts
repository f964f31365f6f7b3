/// <reference lib="esnext.disposable" />
import { Mockserver } from "./index.js";

export interface ServerOptions {
  /** Rules files; default: `rules.yaml` in the working directory, if it exists. */
  rules?: string | string[];
  /** More flags of `mockserver serve`: `["--unmatched", "error"]`. */
  args?: string[];
  /** How mockserver is called; default: `["mockserver"]`. */
  command?: string | string[];
  cwd?: string;
  /** Default: `process.env`. */
  env?: Record<string, string | undefined>;
  /** The control token, if the server has one. */
  token?: string;
  /** Milliseconds that it may take to start; default: 30,000. */
  timeout?: number;
}

export declare class Server extends Mockserver {
  readonly pid: number;
  /** What the server has written to stderr: warnings, and why a reload failed. */
  readonly log: string;
  /** Stop the server. Answers that are being sent get three seconds. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Start a server on a free port; resolves once it listens. Rejects with a MockserverError. */
export declare function startServer(options?: ServerOptions): Promise<Server>;
