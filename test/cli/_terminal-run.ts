import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { CROCHET } from "../_crochet.ts";
import { place } from "../_place.ts";
import { NO_PTY, Pty } from "../_pty.ts";

export const pty: { skip?: string } = NO_PTY === undefined ? {} : { skip: NO_PTY };

interface Given {
  readonly args?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly behind?: string;
}

/** Runs a prompt in a terminal; `watch` may look and answer while it runs. */
export async function run(
  replies: readonly ScriptedReply[],
  { args = [], files = {}, columns = 80, env = {}, behind = "" }: Given,
  watch: (terminal: Pty, cwd: string) => Promise<void> = () => Promise.resolve(),
): Promise<{ screen: string; raw: string; code: number }> {
  await using server = await scriptedServer(replies);
  using where = place(files);
  await using terminal = new Pty([...CROCHET, "run", ...args, "go"], {
    cwd: where.cwd,
    columns,
    behind,
    env: { HOME: where.home, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url, ...env },
  });
  await watch(terminal, where.cwd);
  const code = await terminal.end();
  return { screen: await terminal.screen(), raw: terminal.raw, code };
}

export const EVIL = "a\u001b]0;title\u0007\u001b[2Jb\u009b31mc\u202ed";
