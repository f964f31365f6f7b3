export type Dialect =
  | "anthropic"
  | "azure"
  | "azure_openai"
  | "bedrock"
  | "cohere"
  | "compatible"
  | "crazyrouter"
  | "fireworks"
  | "gemini"
  | "jina"
  | "mistral"
  | "ollama"
  | "openai"
  | "skytells"
  | "tzafon"
  | "voyage"
  | Host;

/** The hosts of the dialect `compatible`. */
export type Host =
  | "cerebras"
  | "deepseek"
  | "groq"
  | "lmstudio"
  | "openrouter"
  | "perplexity"
  | "together"
  | "vllm"
  | "xai";

interface Table {
  [key: string]: unknown;
}

/** What a field must be: a value, a text with `*`, a list of them, or predicates such as `{ contains: "weather" }`. */
export type Condition = string | number | boolean | Table | (string | number | boolean)[];

type Field =
  | "dialect"
  | "host"
  | "operation"
  | "path"
  | "method"
  | "model"
  | "stream"
  | "last_user"
  | "last_message"
  | "system"
  | "conversation"
  | "turn"
  | "tools"
  | "tool_choice"
  | "tool_result"
  | "response_format"
  | "previous_response"
  | "images"
  | "key"
  | "attempt"
  | "namespace"
  | "mcp"
  | "tool"
  | "arguments"
  | "resource"
  | "prompt_name"
  | "client_answer"
  | "client_action"
  | "prompt_tokens"
  | "body";

/** Conditions of a rule, as under `when:` in a rules file. All must hold. */
export type When = { [field in Field]?: Condition } & {
  [field: `${"param" | "header" | "query" | "metadata" | "arguments" | "client_answer"}.${string}`]: Condition;
} & { any?: When[]; all?: When[]; not?: When };

/** Milliseconds, seconds and so on as text (`"300ms"`, `"2s"`), or a number of seconds. */
export type Duration = string | number;

export interface ToolCall {
  name: string;
  /** A table, a JSON text, or `"auto"` for arguments that fit the tool's schema. */
  arguments?: Table | string;
  /** Of a free-text tool, instead of arguments. */
  input?: string;
  id?: string;
}

/** What an answer, or one of its choices, says; as under `then:` in a rules file. */
export interface Content {
  text?: string;
  json?: unknown;
  refusal?: string;
  tool_calls?: ToolCall[];
  items?: (Table & { type: string })[];
  parts?: Table[];
  reasoning?: string;
  citations?: (Table & { url: string })[];
  annotations?: Table[];
  logprobs?: number[];
  finish?: string;
  chunks?: "token" | "word" | "char" | { size: number } | string[];
  content_filter?: Table & { on: "prompt" | "completion" };
  annotate?: Table;
}

/** Progress of a call of an MCP server. */
export interface Progress {
  at?: Duration;
  done?: number;
  of?: number;
  message?: string;
}

/** A log line of an MCP server. */
export interface LogLine {
  at?: Duration;
  level?: "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";
  logger?: string;
  data: unknown;
}

/** What an MCP server asks: the user, the model of the client, or for its roots. */
export interface Question {
  user?: string;
  schema?: Table;
  url?: string;
  model?: string;
  system?: string;
  max_tokens?: number;
  roots?: true;
  name?: string;
}

/** An answer, as under `then:` in a rules file. */
export interface Then extends Content {
  choices?: Content[];
  /** A status, a short name such as `"rate_limit"`, or a table. */
  error?: number | string | (Table & { status?: number; message?: string });
  retry_after?: Duration;
  generate?: string | (Table & { kind: string });
  echo?: true;
  raw?: { status?: number; headers?: Record<string, string | number>; body?: unknown; json?: unknown; frames?: unknown[] };
  cassette?: string;
  forward?: true;
  /** One answer for each turn; the last repeats. */
  steps?: Then[];
  /** One of these, chosen by seed. */
  one_of?: { weight?: number; then: Then }[];
  embedding?: number[];
  moderation?: Record<string, number> | string[];
  audio?: string | { file?: string; text?: string; voice?: string };
  transcript?: string;
  /** The text of a document that OCR reads: of every page, or a list of pages. */
  markdown?: string | string[];
  image?: string | { file?: string; text?: string; color?: string };
  status?: string | string[];
  /** Scores by document, or their order. */
  rerank?: number[] | { order: number[] };
  search_results?: { url: string; title?: string; text?: string; date?: string }[];
  /** What a tool of an MCP server fails with: a text, or JSON. */
  tool_error?: unknown;
  /** Content blocks of a tool of an MCP server, in MCP's form. */
  content?: (Table & { type: string })[];
  /** Progress of a call of an MCP server, before its answer. */
  progress?: Progress | Progress[];
  /** Log lines of a call of an MCP server. */
  log?: string | LogLine | LogLine[];
  /** What an MCP server asks its client before it answers. */
  ask?: Question | Question[];
  failed?: true | { code?: string; message?: string; event?: "error" };
  /** Names, or a name with its table: `{ cut: { after_tokens: 3 } }`. */
  faults?: (string | { [fault: string]: Table })[];
  usage?: Record<string, number>;
  model?: string;
  system_fingerprint?: string | null;
  headers?: Record<string, string | number>;
  /** The name of a profile, or a table such as `{ first_token: "300ms" }`. */
  timing?: string | Table;
}

export interface Rule {
  name?: string;
  when?: When;
  then: Then;
  /** How many calls the rule answers. */
  times?: number;
  /** The state of the scenario that the rule needs, and the one after it. */
  state?: { is?: string; becomes?: string };
  /** The rule answers what a program asks for itself, and its calls are hidden. */
  service?: boolean;
}

export interface ListedRule {
  name: string | null;
  source: string;
  added: boolean;
  hits: number;
  counts: boolean;
  spec: Rule;
  last_call: number | null;
  remarks: string[];
}

/** One condition of a rule, compared with a call. */
export interface Finding {
  field: string;
  predicate: string;
  expected: any;
  actual: any;
  ok: boolean;
}

/** A rule that nearly matched. */
export interface NearRule {
  name: string;
  source: string;
  where: string;
  findings: Finding[];
}

/** The cassette that a namespace plays. */
export interface Cassette {
  namespace: string;
  name: string | null;
  record: RecordMode;
  episodes: number;
  [field: string]: unknown;
}

/** A request as sent, without credentials. */
export interface CallRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  body?: any;
}

/** An answer as sent. */
export interface CallReply {
  status: number | null;
  headers: Record<string, string>;
  body?: any;
  frames?: { at_ms: number; data: any }[];
}

export interface Call {
  call: number;
  at: string;
  namespace: string;
  method: string;
  path: string;
  dialect: string;
  operation: string | null;
  model: string | null;
  attempt: number;
  retry_of?: number;
  /** What answered: `rule rules.yaml:4 weather`, `generated`, `cassette chat.yaml#3`, ... */
  source: string | null;
  unmatched?: true;
  /** Why the rule, or mockserver itself, failed on the call. */
  defect?: string;
  status: number | null;
  faults: string[];
  /** `complete`, `open`, `client left after 3 frames`, ... */
  ended: string;
  first_byte_ms: number | null;
  elapsed_ms: number | null;
  streamed: boolean;
  bytes: number;
  frames?: number;
  usage: { prompt_tokens: number; completion_tokens: number } | null;
  /** In lists with `bodies: true`. */
  request?: CallRequest;
  reply?: CallReply;
  [field: string]: unknown;
}

export interface CallDetail extends Call {
  /** Why the rule matched. */
  findings?: Finding[];
  /** The rules that were near, if none matched. */
  nearest?: NearRule[];
  request: CallRequest;
  reply: CallReply;
}

/** Filters of `GET calls`; `since` and `before` are numbers of calls. */
export interface CallFilters {
  model?: string;
  operation?: string;
  dialect?: string;
  status?: number;
  source?: string;
  rule?: string;
  unmatched?: boolean;
  /** Whether a rule, or mockserver itself, failed on the call. */
  defect?: boolean;
  ended?: string;
  /** Also the calls that rules with `service: true` answered. */
  service?: boolean;
  contains?: string;
  since?: number;
  before?: number;
  /** Up to 100 of these calls: `"7,9"`. */
  numbers?: string;
  limit?: number;
  bodies?: boolean;
  digest?: boolean;
}

export interface Ready {
  status: "ready";
  version: string;
  dialect: string;
  files: string[];
  rules: number;
  [field: string]: unknown;
}

export interface State {
  namespace: string;
  state: string;
  times: Record<string, number>;
  attempts: Record<string, number>;
  hits: Record<string, number>;
  rules_added: number;
  timing: boolean;
  calls: number;
  open: number;
  stored_answers: number;
}

export type RecordMode = "none" | "once" | "new_episodes" | "all";

/** What clients take as base URL, below the server's address or a namespace of it. */
export declare const PATHS: Readonly<Record<Dialect, string>>;

export declare class MockserverError extends Error {
  /** The control API's status; undefined if the server did not answer or did not start. */
  readonly status: number | undefined;
  /** All mistakes of a rule, each with its place. */
  readonly mistakes: string[];
}

export declare class Mockserver {
  readonly address: string;
  /** Default: the variable MOCKSERVER_URL, else http://127.0.0.1:8000. */
  constructor(address?: string, options?: { token?: string });
  /** Rules, counters and calls of their own: one for each test. Without a name, a new one. */
  namespace(name?: string): Namespace;
  /** Clear all namespaces. */
  reset(): Promise<void>;
  /** Wait until the server answers; `timeout` in milliseconds. */
  ready(options?: { timeout?: number }): Promise<Ready>;
  /** A request to the control API; resolves to its JSON. */
  control(
    method: string,
    path: string,
    options?: { query?: Record<string, string | number | boolean | undefined>; body?: unknown },
  ): Promise<any>;
}

export declare class Namespace {
  readonly name: string;
  readonly address: string;
  constructor(server: Mockserver, name: string);
  baseURL(dialect?: Dialect): string;
  /** The variables that the clients of OpenAI, Azure OpenAI, Anthropic and Google read. */
  environment(key?: string): Record<string, string>;
  /** Add a rule before all others. Returns its name. */
  rule(when: When, then: Then, more?: Partial<Rule>): Promise<string>;
  /** Add rules before all others, the first before the second. Returns their names. */
  addRules(rules: Rule[], options?: { replace?: boolean }): Promise<string[]>;
  /** Remove one of the added rules, or all of them. Returns the names of those that are gone. */
  removeRules(name?: string): Promise<string[]>;
  rules(): Promise<ListedRule[]>;
  /** The calls so far, the oldest first. */
  calls(filters?: CallFilters): Promise<Call[]>;
  /** One call with its request, its answer and the rules that were near. */
  call(number: number): Promise<CallDetail>;
  /** Wait until at least `count` answers have been sent or broken off; `timeout` in milliseconds (default: 5,000). */
  waitForCalls(count?: number, options?: CallFilters & { timeout?: number }): Promise<Call[]>;
  forgetCalls(): Promise<void>;
  state(): Promise<State>;
  setState(state: string): Promise<void>;
  /** Play another cassette; null plays none. */
  playCassette(name: string | null, record?: RecordMode): Promise<Cassette>;
  /** Send answers at once (false), or as they are timed. */
  setTiming(on: boolean): Promise<void>;
  /** Forget rules, counters, state, stored answers and calls. */
  reset(): Promise<void>;
}
