import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { parsed } from "../../core/json.ts";
import { startGroup } from "../../process/process.ts";
import { LINE, SHIM, STATUS } from "./mcp.ts";
import { secretsOf } from "../../log/redact/secrets.ts";
import { command, type Usage } from "../../cli/kit/flags.ts";
import { EXIT, type Io, UsageError } from "../../cli/kit/io.ts";
import { commandBehind } from "../../cli/kit/behind-dashes.ts";
import { started } from "./started.ts";

const USAGE: Usage = {
  name: "mcp",
  words: "<name> -- <command…>",
  about:
    "Stands before an MCP server on stdin and stdout. While 'crochet record -- COMMAND' runs, it runs the server and records what is said; " +
    "in a replay it runs nothing, and the tape answers; else it only runs the server. Both put it before the servers " +
    "of Claude Code, Codex and Gemini CLI: write it into the settings of any other client.",
  flags: [
    ["--url <url>", "where the tape is served; default: CROCHET_URL"],
    [
      "--env <names>",
      "variables that are the server's own, whose values must not be on a tape: names separated by commas",
    ],
  ],
  example: "crochet mcp weather -- sh weather-server.sh",
  passes: true,
};

export default command(USAGE, async (typed, io) => {
  const { words, command = [] } = commandBehind(typed, USAGE.example);
  const { flags } = typed;
  const [name] = words;
  if (name === undefined || words.length > 1 || command.length === 0) {
    const why = command.length === 0 ? "no server" : `${words.length} MCP servers`;
    throw new UsageError(`Cannot stand before ${why}: name one, as in ${USAGE.example}`);
  }
  const serve = (note?: Note) => started(command, () => runServer(command, io, note));
  const url = flags.url ?? io.env.CROCHET_URL;
  if (url === undefined) return await serve();
  const address = `${url}/mcp/${encodeURIComponent(name)}`;
  const headers = { [SHIM]: crypto.randomUUID() };
  const post = (body: string, more = {}) => fetch(address, { method: "POST", headers: { ...headers, ...more }, body });
  const opened = await fetch(address, { headers });
  if (opened.status === STATUS.notHere) return await serve();
  if (opened.status !== STATUS.noted) return await answered(post, opened, io);
  const note = (line: object) => post(JSON.stringify(line));
  await note({ env: secretsIn(String(flags.env ?? ""), io.env) });
  const code = await serve(note);
  await note({ ended: true });
  return code;
});

/** Tells the tape what was heard. */
type Note = (line: object) => Promise<unknown>;

/** The values of a server's own variables, and of those whose names say that they are secret. */
function secretsIn(names: string, env: Io["env"]): { readonly [name: string]: string | undefined } {
  const named = names.split(",").map((name) => [name, env[name]]);
  return Object.fromEntries([...[...secretsOf(env)].map(([value, name]) => [name, value]), ...named]);
}

/** Runs the server; what either side says is noted before the other hears it, in its order. */
function runServer([command = "", ...args]: readonly string[], { env, cwd, signal }: Io, note?: Note): Promise<number> {
  return new Promise((resolve, reject) => {
    const group = startGroup({ command, args, cwd, env });
    const { child } = group;
    let under = Promise.resolve();
    const carry = (from: NodeJS.ReadableStream, side: string, to: NodeJS.WritableStream) =>
      createInterface({ input: from }).on("line", (line) => {
        under = under.then(async () => {
          const message = parsed(line);
          if (message !== undefined) await note?.({ [side]: message });
          to.write(`${line}\n`);
        });
      });
    carry(process.stdin, "client", child.stdin).on("close", () => under.then(() => child.stdin.end(), reject));
    carry(child.stdout, "server", process.stdout);
    child.stderr.pipe(process.stderr);
    for (const name of ["SIGTERM", "SIGHUP"] as const) process.once(name, () => group.end());
    signal.addEventListener("abort", () => group.end(), { once: true });
    child.once("error", reject).once("close", (code) => {
      process.stdin.destroy();
      under.then(() => resolve(code ?? EXIT.failed), reject);
    });
  });
}

/** Carries lines between the client and the tape, until one of them ends. */
async function answered(
  post: (line: string, headers: { readonly [LINE]: string }) => Promise<Response>,
  own: Response,
  io: Io,
): Promise<number> {
  let lines = 0;
  const ended = Promise.withResolvers<number>();
  const carry = async ({ status, body }: Response) => {
    if (status === STATUS.ended) throw new Error("The recorded server ended here");
    for await (const line of body ? createInterface({ input: Readable.fromWeb(body as never) }) : []) {
      if (/^data: |^\{/.test(line)) process.stdout.write(`${line.replace(/^data: /, "")}\n`);
    }
  };
  const fail = () => ended.resolve(EXIT.failed);
  if (own.ok) carry(own).catch(fail);
  createInterface({ input: process.stdin })
    .on("line", (line) => void post(line, { [LINE]: String(lines++) }).then(carry).catch(fail))
    .on("close", () => ended.resolve(EXIT.ok));
  io.signal.addEventListener("abort", () => ended.resolve(EXIT.interrupted), { once: true });
  const code = await ended.promise;
  process.stdin.destroy();
  return code;
}
