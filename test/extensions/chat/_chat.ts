import { type ScriptedReply, type ScriptedServer, scriptedServer } from "crochet/testing";
import { CROCHET } from "../../_crochet.ts";
import { place } from "../../_place.ts";
import { NO_PTY, Pty } from "../../_pty.ts";

/** Options of a test that needs a terminal. */
export const pty = NO_PTY === undefined ? {} : { skip: NO_PTY };

interface Chat {
  readonly terminal: Pty;
  readonly server: ScriptedServer;
  readonly cwd: string;
  readonly home: string;
  /** Opens another chat in the same place. */
  again(args?: readonly string[]): Promise<Pty>;
}

/** Talks with an agent whose model says these things. */
export async function chat(
  replies: Parameters<typeof scriptedServer>[0],
  talk: (chat: Chat) => Promise<void>,
  { args = [], files = {}, columns = 80, env = {} }: {
    args?: readonly string[];
    files?: Readonly<Record<string, string>>;
    columns?: number;
    env?: Readonly<Record<string, string>>;
  } = {},
): Promise<void> {
  await using server = await scriptedServer(replies, { then: { text: "I heard you." } });
  using where = place(files);
  await using opened = new AsyncDisposableStack();
  const again = async (more: readonly string[] = args) => {
    const terminal = opened.use(
      new Pty([...CROCHET, "chat", ...more], {
        cwd: where.cwd,
        columns,
        env: { HOME: where.home, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url, ...env },
      }),
    );
    await terminal.until(/\/help lists/);
    return terminal;
  };
  await talk({ terminal: await again(), server, cwd: where.cwd, home: where.home, again });
}

/** A reply that runs a command. */
export const bash = (command: string, text?: string): ScriptedReply => ({
  ...(text !== undefined && { text }),
  tools: [{ name: "Bash", input: { command } }],
});
/** Runs until it is ended, and leaves the ids of a process in the background and one in front. */
export const TREE = "sleep 300 & echo $! > back.pid; sh -c 'echo $$ > fore.pid; exec sleep 300'";
export const BYPASS = ["--permission-mode", "bypass"];

/** The last message of the n-th request. */
export const sent = (server: ScriptedServer, n: number) => JSON.stringify(server.requests.at(n)!.body.messages.at(-1));
