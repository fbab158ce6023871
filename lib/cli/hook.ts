import { type Host, serve } from "../hooks/serve.ts";
import type { Command } from "./_io.ts";

const HELP = `crochet hook <file> [--event <name>] [--dialect claude|codex|gemini]

  Serves a hook file as a command hook of another host: its event on stdin, the answer on stdout.

  --event <name>     the event, where the file's name does not say it
  --dialect <host>   whose protocol is spoken (claude)
  --help             this text

Example
  echo '{"hook_event_name":"Stop"}' | crochet hook hooks/stop.tests-pass.ts
`;

const HOSTS: readonly string[] = ["claude", "codex", "gemini"];

/** Started for every event of another host: it reads its few flags itself and loads nothing it may not need. */
const hook: Command = async (args, io) => {
  const asked = readArgs(args);
  if (asked === "help") {
    io.out(HELP);
    return 0;
  }
  const { file, ...options } = asked;
  const path = file.startsWith("/") ? file : `${io.cwd}/${file}`;
  const { env, signal } = io;
  const model = async () => env.ANTHROPIC_API_KEY ? (await import("../anthropic.ts")).anthropic() : undefined;
  const { stdout, stderr, code } = await serve(path, await stdinText(), { ...options, env, signal, model });
  if (stderr !== "") io.err(stderr);
  if (stdout !== "") io.out(stdout);
  return code;
};
export default hook;

interface Asked {
  readonly file: string;
  readonly host: Host;
  readonly event: string | undefined;
}

function readArgs(args: readonly string[]): Asked | "help" {
  const words: string[] = [];
  const flags: Record<string, string> = {};
  for (let i = 0; i < args.length; i++) {
    const [, flag, joined] = /^--(event|dialect)(?:=(.*))?$/s.exec(args[i]!) ?? [];
    if (args[i] === "--help" || args[i] === "-h") return "help";
    if (flag === undefined) words.push(args[i]!);
    else if ((flags[flag] = joined ?? args[++i] ?? "") === "") {
      throw new TypeError(`Cannot read --${flag} as its value is missing`);
    }
  }
  const wrong = words.find((word) => word.startsWith("--"));
  if (wrong !== undefined) {
    throw new TypeError(`Cannot read ${wrong} as 'crochet hook' has no such flag: expected --event or --dialect`);
  }
  const [file, ...more] = words;
  if (file === undefined || more.length > 0) {
    throw new TypeError(`Cannot serve ${words.length} files: name one, as in crochet hook hooks/stop.sh`);
  }
  const host = flags.dialect ?? "claude";
  if (!HOSTS.includes(host)) {
    throw new TypeError(`Cannot speak dialect '${host}' as there is no such host: expected ${HOSTS.join(", ")}`);
  }
  return { file, host: host as Host, event: flags.event };
}

/** By the runtime's own reader: the streams of node are most of what starting would cost. */
export function stdinText(): Promise<string> {
  const { Bun, Deno } = globalThis as unknown as {
    Bun?: { stdin: { text(): Promise<string> } };
    Deno?: { stdin: { readable: ReadableStream<Uint8Array> } };
  };
  return Bun ? Bun.stdin.text() : new Response(Deno!.stdin.readable).text();
}
