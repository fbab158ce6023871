import { fileURLToPath } from "node:url";

/** The command that runs this program, with runtime and script named absolutely: no launcher, no PATH. */
export function selfCommand(): string {
  const main = fileURLToPath(new URL("./main.ts", import.meta.url));
  const quoted = (path: string) => /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
  const deno = "Deno" in globalThis;
  const config = fileURLToPath(new URL("../../deno.json", import.meta.url));
  const runtime = deno
    ? `${quoted(process.execPath)} run -A --quiet --config ${quoted(config)}`
    : quoted(process.execPath);
  return `${runtime} ${quoted(main)}`;
}
