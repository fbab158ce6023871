import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable } from "node:stream";
import { format } from "node:util";
import type { Command, Io } from "../lib/cli/kit/io.ts";
import { guarded } from "../lib/cli/kit/process.ts";
import { consoleAside } from "../lib/cli/kit/runtime.ts";
import { main } from "../lib/cli/main.ts";
import { bareEnv, crochet, type Exit, type Given } from "./_crochet.ts";
import { withEnv } from "./_env.ts";
import { put, scratch } from "./_scratch.ts";

/** The modules that are loaded: Bun loads one again that is taken out. */
const { cache } = createRequire(import.meta.url);
const isDeno = "Deno" in globalThis;

export type Place = ReturnType<typeof place>;

/** A project and a home of their own, and the command line as it is used there: `using here = place()`. */
export function place(files: Readonly<Record<string, string>> = {}, project = "project") {
  const folder = scratch();
  const [cwd, home] = [join(folder.path, project), join(folder.path, "home")];
  for (const dir of [cwd, home]) mkdirSync(dir);
  put(cwd, files);
  /** What commands are called with: a test may set more. */
  const env: Record<string, string | undefined> = {
    HOME: home,
    PATH: process.env.PATH,
    DENO_DIR: process.env.DENO_DIR,
  };
  /** How commands are called: a test of what a process of its own gives a run has these made. */
  const given = { processes: false };
  const called = async (work: (io: Io) => Promise<number>, args: readonly string[], more: Partial<Io>) => {
    if (!isDeno) { for (const path of Object.keys(cache)) if (path.startsWith(`${folder.path}/`)) delete cache[path]; }
    const said = { out: "", err: "" };
    const io: Io = {
      out: (text) => void (said.out += text),
      err: (text) => void (said.err += text),
      tty: false,
      env,
      cwd,
      signal: new AbortController().signal,
      runsHere: !given.processes,
      ...more,
    };
    const code = await guarded(args, io, () => work(io));
    return { ...said, code };
  };
  return {
    cwd,
    home,
    env,
    given,
    put: (files: Readonly<Record<string, string>>) => put(cwd, files),
    /** Calls one command in this process; Bun loads scripts as they are now. */
    call: (command: Command, ...args: string[]): Promise<Exit> => called((io) => command(args, io), args, {}),
    /**
     * Calls the command line in this process as `crochet` does in another: in the project, with that environment and
     * stdin, with scripts as they are now. Deno, which loads a script once, starts one.
     */
    main: async (args: readonly string[], more: Given["env"] = {}, stdin = "", at = cwd): Promise<Exit> => {
      const asked = { cwd: at, env: { HOME: home, ...more }, stdin };
      if (isDeno) return await crochet(args, asked);
      const before = { cwd: process.cwd(), error: console.error };
      const none = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]));
      return await withEnv({ ...none, ...bareEnv(), ...asked.env }, async () => {
        process.chdir(at);
        const stream = Readable.from(stdin === "" ? [] : [Buffer.from(stdin)]) as NodeJS.ReadStream;
        let printed = (_: string) => {};
        console.error = (...parts) => printed(`${format(...parts)}\n`);
        const back = consoleAside();
        try {
          return await called((io) => (printed = io.err, main(args, io)), args, {
            cwd: at,
            env: process.env,
            stdin: { isPiped: true, stream },
          });
        } finally {
          back();
          console.error = before.error;
          process.chdir(before.cwd);
        }
      });
    },
    /** Runs the command line in a process of its own. */
    crochet: (args: readonly string[], more: Given["env"] = {}, stdin = "") =>
      crochet(args, { cwd, env: { HOME: home, ...more }, stdin }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}
