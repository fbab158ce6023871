import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Command, Io } from "../lib/cli/_io.ts";
import { guarded } from "../lib/cli/_process.ts";
import { crochet, type Exit, type Given } from "./_crochet.ts";
import { put, scratch } from "./_scratch.ts";

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
  return {
    cwd,
    home,
    env,
    put: (files: Readonly<Record<string, string>>) => put(cwd, files),
    /** Calls one command in this process. */
    call: async (command: Command, ...args: string[]): Promise<Exit> => {
      let out = "";
      let err = "";
      const io: Io = {
        out: (text) => void (out += text),
        err: (text) => void (err += text),
        tty: false,
        env,
        cwd,
        signal: new AbortController().signal,
      };
      const code = await guarded(args, io, () => command(args, io));
      return { out, err, code };
    },
    /** Runs the command line in a process of its own. */
    crochet: (args: readonly string[], more: Given["env"] = {}, stdin = "") =>
      crochet(args, { cwd, env: { HOME: home, ...more }, stdin }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}
