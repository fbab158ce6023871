import { existsSync, realpathSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { parsed } from "../../core/json.ts";
import type { Places } from "../../log/redact/places.ts";
import { MAIN, type Sent } from "../../log/tape.ts";
import { asksModel } from "./api.ts";

type Headers = { readonly [name: string]: string | undefined };

/** What is learned of a program while it runs: the ids of its session and its agents, which it writes into its texts. */
export class ComparedProgram {
  readonly #folder: string | undefined;
  #session: string | undefined;
  #wasAsked = false;
  readonly #agents: string[] = [];

  constructor(folder?: string) {
    this.#folder = folder;
  }

  /** Reads a request and its headers; gives the lane it is in. */
  learn(headers: Headers, sent: Sent): string {
    const { session, agent } = idsIn(headers);
    // An empty id would be found in every text, without an end.
    this.#session ??= session || undefined;
    if (asksModel(sent) && !this.#wasAsked) {
      this.#wasAsked = true;
      this.#session ??= OWN_FOLDER.exec(JSON.stringify(sent.body))?.[1];
    }
    if (!agent || agent === this.#session) return MAIN;
    if (!this.#agents.includes(agent)) this.#agents.push(agent);
    return `agent-${this.#agents.indexOf(agent) + 1}`;
  }

  get places(): NonNullable<Places["program"]> {
    return { folder: this.#folder, session: this.#session, agents: [...this.#agents] };
  }
}

/** The folder that a program made for a session, in a hidden one of its own: `~/.copilot/session-state/2981d63d-…`. */
const OWN_FOLDER = /\/\.\w[\w-]*\/(?:[\w.-]{1,99}\/){0,9}([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])/;

function idsIn(headers: Headers): { session?: string | undefined; agent?: string | undefined } {
  const { "x-claude-code-session-id": claude, "session-id": codex, "x-session-id": opencode } = headers;
  if (claude !== undefined) return { session: claude, agent: headers["x-claude-code-agent-id"] };
  if (codex !== undefined) return { session: codex, agent: headers["thread-id"] };
  const parent = headers["x-parent-session-id"];
  return parent === undefined ? { session: opencode } : { session: parent, agent: opencode };
}

/** The headers of a request that a tape keeps: which program and which API, and whether it is tried again. */
export function keptHeaders(headers: Headers): { [name: string]: string } {
  const kept = Object.fromEntries(
    ["user-agent", "originator", "anthropic-version", "anthropic-beta", "openai-beta"]
      .flatMap((name) => headers[name] === undefined ? [] : [[name, headers[name]]]),
  );
  const { agent_name } = parsed(headers["x-codex-turn-metadata"] ?? "") as { agent_name?: string } ?? {};
  return agent_name === undefined || agent_name === "/root" ? kept : { ...kept, "agent-name": agent_name };
}

/** Programs that only start another one. */
const STARTERS = /^(?:npm|npx|pnpm|pnpx|yarn|bun|bunx|node|deno)$/;

/** The words of a command, and those of a line that a shell of it is given. */
function wordsIn(command: readonly string[]): string[] {
  return command.flatMap((word, i) =>
    i > 0 && /^-\w*c$/.test(command[i - 1]!) ? word.match(/[^\s"'`;&|()<>$={}]+/g) ?? [] : [word]
  );
}

/** The folder that the program of a command is installed in, if it is a package: prompts name files in it. */
export function installFolder(
  command: readonly string[],
  env: { readonly [name: string]: string | undefined },
): string | undefined {
  const folders = (env.PATH ?? "").split(delimiter).filter(Boolean);
  for (const word of wordsIn(command)) {
    if (STARTERS.test(basename(word))) continue;
    const path = (word.includes("/") ? [word] : folders.map((folder) => join(folder, word))).find(existsSync);
    const found = path && /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(realpathSync(path))?.[0];
    if (found) return found;
  }
  return undefined;
}
