import type { Block } from "../../core/messages.ts";
import type { AnswerFact, Header, InboxFact, MemoryFact, RefusalFact, SaidFact, ToolFact } from "../../log/entry.ts";
import type { LiveCall, WireFacts } from "./record-tape.ts";
import { workspacePath } from "../../files/confine.ts";
import type { SecretKind } from "../redact/secrets.ts";
import { withOtherTexts } from "../tape-tools.ts";

/** What is known of the wire a run went over. */
interface SeenWire {
  url?: string;
  /** Whether anything answered, and the first answer's id. */
  answer?: { readonly requestId: string | null };
  sdk?: string;
  api?: string;
}

/** What a session notes of a run while it happens. Nothing is masked before the end, when `recorded-tape.ts` makes a tape of it. */
export class Recording {
  readonly calls: LiveCall[] = [];
  readonly tools: ToolFact[] = [];
  readonly prompts: (string | readonly Block[])[] = [];
  readonly models: { [prompt: number]: string } = {};
  readonly inboxes: InboxFact[] = [];
  readonly refusals: RefusalFact[] = [];
  readonly answers: AnswerFact[] = [];
  readonly said: SaidFact[] = [];
  /** What the run chose in place of its agent. */
  readonly chosen = new Set<string>();
  /** The files of the agent's own hook folders, by name. */
  hooks: readonly string[] = [];
  /** By what calls were decided, masked. */
  permissions?: Header["permissions"];
  sandbox?: Header["sandbox"];
  memory?: MemoryFact;
  git?: string;
  readonly files = new Map<string, string>();
  /** Whether a person ended one of the session's runs. */
  isInterrupted = false;
  readonly seen: SeenWire = {};
  /** Fields of requests that middleware or headers of the model changed. */
  readonly changed = new Set<string>();
  readonly #learn: (kind: SecretKind, name: string, value: string) => void;

  /** `learn` gets the secrets in headers, which must not be shown anywhere else. */
  constructor(learn: (kind: SecretKind, name: string, value: string) => void) {
    this.#learn = learn;
  }

  /** Notes what a file of the workspace said when the agent itself first read it. */
  hasRead(root: string, path: string, text: string): void {
    const from = workspacePath(root, path);
    if (from !== undefined && !this.files.has(from)) this.files.set(from, text);
  }

  /** Changes all texts of tool calls, which are masked as they are noted: what is known only now is to be taken out too. */
  changeTools(change: <T>(value: T) => T): void {
    this.tools.splice(0, Infinity, ...this.tools.map((fact) => withOtherTexts(fact, change)));
  }

  readonly wireFacts: WireFacts = {
    url: (url) => {
      this.seen.url ??= new URL(url).origin;
    },
    requestHeaders: (headers) => {
      this.seen.sdk ??= headers.get("x-stainless-package-version") ?? "unknown";
      this.seen.api ??= headers.get("anthropic-version") ?? "unknown";
      const key = headers.get("x-api-key") ?? headers.get("authorization")?.replace(/^Bearer /, "");
      if (key) this.#learn("key", "api-key", key);
    },
    changed: (fields) => {
      for (const field of fields) this.changed.add(field);
    },
    responseHeaders: (headers) => {
      this.seen.answer ??= { requestId: headers.get("request-id") };
      for (const name of ["anthropic-organization-id", "anthropic-workspace-id"]) {
        const id = headers.get(name);
        if (id) this.#learn("organisation", name, id);
      }
      for (const cookie of headers.getSetCookie()) {
        const value = /^[^=]*=([^;]+)/.exec(cookie)?.[1];
        if (value) this.#learn("cookie", "set-cookie", value);
      }
    },
  };
}
