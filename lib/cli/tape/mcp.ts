import { createInterface } from "node:readline";
import { parsed } from "../../core/json.ts";
import { startGroup } from "../../process/process.ts";
import { ENDED, NOT_HERE, NOTED, SHIM } from "../../replay/server/mcp.ts";
import { secretsOf } from "../../replay/redact/secrets.ts";
import { command, type Usage } from "../_flags.ts";
import { EXIT, type Io, UsageError } from "../_io.ts";
import { commandAsked } from "./_asked.ts";

const USAGE: Usage = {
  name: "tape mcp",
  words: "<name> -- <command…>",
  about:
    "Stands before an MCP server on stdin and stdout. While 'crochet tape record' runs, it runs the server and records what is said; " +
    "in a replay it runs nothing, and the tape answers; else it only runs the server. 'tape record' and 'tape replay' put it before the servers " +
    "of Claude Code, Codex and Gemini CLI: write it into the settings of any other client.",
  flags: [
    ["--url <url>", "where the tape is served; default: CROCHET_TAPE_URL"],
    [
      "--env <names>",
      "variables that are the server's own, whose values must not be on a tape: names separated by commas",
    ],
  ],
  example: "crochet tape mcp weather -- sh weather-server.sh",
};

export default command(USAGE, async ({ words, flags, args }, io) => {
  const asked = commandAsked(args, words, USAGE.example);
  const [name] = asked.words;
  if (name === undefined || asked.words.length > 1) {
    throw new UsageError(`Cannot stand before ${asked.words.length} MCP servers: name one, as in ${USAGE.example}`);
  }
  const url = flags.url ?? io.env.CROCHET_TAPE_URL;
  if (url === undefined) return await runServer(asked.command, io);
  const tape = new TapeLine(`${url}/mcp/${encodeURIComponent(name)}`);
  const heard = await tape.open(secretsIn(String(flags.env ?? ""), io.env));
  if (heard === "live") return await runServer(asked.command, io);
  if (heard !== "record") return await answered(tape, heard, io);
  const code = await runServer(asked.command, io, (line) => tape.note(line));
  await tape.note({ ended: true });
  return code;
});

/** The values of a server's own variables, and of those whose names say that they are secret. */
function secretsIn(names: string, env: Io["env"]): { readonly [name: string]: string | undefined } {
  const named = names.split(",").map((name) => [name, env[name]]);
  return Object.fromEntries([...[...secretsOf(env)].map(([value, name]) => [name, value]), ...named]);
}

/** Our connection with the server of the tape. */
class TapeLine {
  readonly #address: string;
  readonly #headers = { [SHIM]: crypto.randomUUID() };
  #last: Promise<unknown> = Promise.resolve();

  constructor(address: string) {
    this.#address = address;
  }

  /** Gives what the server says by itself if it is replayed. */
  async open(env: object): Promise<"record" | "live" | Response> {
    const answer = await fetch(this.#address, { headers: this.#headers });
    if (answer.status === NOT_HERE) return "live";
    if (answer.status !== NOTED) return answer;
    await this.note({ env });
    return "record";
  }

  /** What was heard is known there before it goes on, in its order. */
  note(line: object): Promise<unknown> {
    const post = () => fetch(this.#address, { method: "POST", headers: this.#headers, body: JSON.stringify(line) });
    return this.#last = this.#last.then(post);
  }

  ask(line: string): Promise<Response> {
    return fetch(this.#address, { method: "POST", headers: this.#headers, body: line });
  }
}

/** Runs the server; what either side says is noted before the other hears it. */
function runServer(
  [program = "", ...args]: readonly string[],
  { env, cwd, signal }: Io,
  note: (line: object) => Promise<unknown> = () => Promise.resolve(),
): Promise<number> {
  return new Promise((resolve, reject) => {
    const group = startGroup({ command: program, args, cwd, env });
    const { child } = group;
    let under = Promise.resolve();
    const carry = (from: NodeJS.ReadableStream, side: string, to: NodeJS.WritableStream, over: () => void) => {
      createInterface({ input: from }).on("line", (line) => {
        under = under.then(async () => {
          const message = parsed(line);
          if (message !== undefined) await note({ [side]: message });
          to.write(`${line}\n`);
        });
      }).on("close", () => under.then(over));
    };
    carry(process.stdin, "client", child.stdin, () => child.stdin.end());
    carry(child.stdout, "server", process.stdout, () => {});
    child.stderr.pipe(process.stderr);
    for (const name of ["SIGTERM", "SIGHUP"] as const) process.once(name, () => group.end());
    signal.addEventListener("abort", () => group.end(), { once: true });
    child.once("error", (error) => {
      const why = (error as { code?: string }).code === "ENOENT" ? "there is no such command" : error.message;
      reject(new UsageError(`Cannot run '${program}' as ${why}`));
    });
    child.once("close", (code) => {
      process.stdin.destroy();
      under.then(() => resolve(code ?? EXIT.failed));
    });
  });
}

/** Carries lines between the client and the tape. */
async function answered(tape: TapeLine, own: Response, io: Io): Promise<number> {
  const ended = Promise.withResolvers<number>();
  const carry = async (answer: Response) => {
    if (answer.status === ENDED) return ended.resolve(EXIT.failed);
    try {
      let rest = "";
      const decoder = new TextDecoder();
      for await (const chunk of answer.body ?? []) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
        rest = lines.pop()!;
        for (const line of lines) if (line.startsWith("data: ")) process.stdout.write(`${line.slice(6)}\n`);
      }
      if (rest.startsWith("{")) process.stdout.write(`${rest}\n`);
    } catch {
      ended.resolve(EXIT.failed); // the recorded server ended here
    }
  };
  if (own.ok) void carry(own);
  createInterface({ input: process.stdin })
    .on("line", (line) => void tape.ask(line).then(carry, () => ended.resolve(EXIT.failed)))
    .on("close", () => ended.resolve(EXIT.ok));
  io.signal.addEventListener("abort", () => ended.resolve(EXIT.interrupted), { once: true });
  const code = await ended.promise;
  process.stdin.destroy();
  return code;
}
