import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import type { Command, Io } from "../../lib/cli/_io.ts";
import { guarded } from "../../lib/cli/_process.ts";
import { scratch } from "../_scratch.ts";

/** A project and a home of their own, and commands called in them as a user would. */
export function workplace(files: Record<string, string> = {}) {
  const folder = scratch();
  const cwd = `${folder.path}/project`;
  const env: Record<string, string | undefined> = { HOME: `${folder.path}/home`, PATH: process.env.PATH };
  const put = (name: string, text: string) => {
    const path = `${cwd}/${name}`;
    mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    writeFileSync(path, text);
    if (name.endsWith(".sh")) chmodSync(path, 0o755);
  };
  mkdirSync(cwd);
  mkdirSync(`${folder.path}/home`);
  for (const [name, text] of Object.entries(files)) put(name, text);
  const call = async (command: Command, ...args: string[]) => {
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
  };
  return { cwd, env, home: `${folder.path}/home`, put, call, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}
