import type { PostToolUseHook } from "crochet";

type Has = (file: string) => boolean;

const SCRIPTS = "ts tsx mts cts js jsx mjs cjs";
const WEB = `${SCRIPTS} json css scss html md yaml yml`;
const BIN = "node_modules/.bin";

/** Which files, whether the project uses it, how it is called. The first that fits formats. */
const FORMATTERS: readonly (readonly [files: string, uses: (has: Has) => boolean, run: readonly string[]])[] = [
  [WEB, (has) => has(`${BIN}/prettier`), [`${BIN}/prettier`, "--write", "--log-level=warn"]],
  [WEB, (has) => has(`${BIN}/biome`), [`${BIN}/biome`, "format", "--write"]],
  [`${SCRIPTS} json jsonc md`, (has) => has("deno.json") || has("deno.jsonc"), ["deno", "fmt", "--quiet"]],
  ["go", (has) => has("go.mod"), ["gofmt", "-w"]],
  ["rs", (has) => has("Cargo.toml"), ["rustfmt", "--edition", "2024"]],
  ["py", (has) => has("ruff.toml") || has("pyproject.toml"), ["ruff", "format", "--quiet"]],
];

/** Formats the file that was just changed, with the formatter the project uses; without one it does nothing. */
const format: PostToolUseHook = async ({ input }, ctx) => {
  if (typeof input.file_path !== "string") return;
  const path = input.file_path.startsWith("/") ? input.file_path : `${ctx.cwd}/${input.file_path}`;
  const there = [...await ctx.files.list("."), ...(await ctx.files.list(BIN)).map((name) => `${BIN}/${name}`)];
  const has: Has = (file) => there.includes(file);
  const ending = /\.(\w+)$/.exec(path)?.[1] ?? "";
  const formatter = FORMATTERS.find(([files, uses]) => files.split(" ").includes(ending) && uses(has));
  if (!formatter) return;
  const [program, ...args] = formatter[2] as [string, ...string[]];
  // A missing formatter is not the agent's mistake.
  const ran = await ctx.$(program, [...args, path]).catch(() => undefined);
  if (!ran || ran.code === 0) return;
  const said = `${ran.stdout}\n${ran.stderr}`.trim().slice(-1000);
  return { action: "continue", context: `${program} could not format ${input.file_path}:\n${said}` };
};
export default format;
export const config = { timeout: 60, nondeterministic: true, also: ["post-tool-use@MultiEdit"] };
