import type { HookFiles, StopHook } from "crochet";

/** Sends the agent back while the project's tests fail. Set CROCHET_TEST_COMMAND if it does not find the right command. */
const testsPass: StopHook = async ({ stop_hook_active }, ctx) => {
  const before = stop_hook_active ? Number(ctx.values.get(SENT_BACK) ?? 0) : 0;
  if (before >= MOST || await ctx.lastError()) return; // after an error of the API it could not go on either
  const { stdout: given } = await ctx.$("/bin/sh", ["-c", 'printf %s "$CROCHET_TEST_COMMAND"']);
  const command = given || await testCommand(ctx.files);
  if (command === undefined) return;
  const { code, stdout, stderr } = await ctx.$("/bin/sh", ["-c", command]);
  if (code === 0) return;
  ctx.values.set(SENT_BACK, before + 1);
  const tail = `${stdout}\n${stderr}`.trim().split("\n").slice(-40).join("\n");
  return { action: "deny", reason: `The tests fail (${command}). Mend what is broken before you stop:\n${tail}` };
};
export default testsPass;
export const config = { timeout: 600, nondeterministic: true };

/** After being sent back so often, the agent may stop: a person must fix it. */
const [MOST, SENT_BACK] = [5, "tests-pass:sent-back"] as const;

const BY_FILE = [
  ["Cargo.toml", "cargo test --quiet"],
  ["go.mod", "go test ./..."],
  ["pytest.ini", "python3 -m pytest -q"],
  ["pyproject.toml", "python3 -m pytest -q"],
  ["deno.json bun.lock", "bun test"], // installed by Bun: Deno need not be there
  ["deno.json", "deno test -A"],
] as const;

async function testCommand(files: HookFiles): Promise<string | undefined> {
  const there = await files.list(".");
  const has = (file: string) => there.includes(file);
  const test = JSON.parse(await files.read("package.json") ?? "{}").scripts?.test;
  // The script that 'npm init' writes is not a test.
  if (test && !test.includes("no test specified")) {
    return has("bun.lock") ? "bun run test" : has("pnpm-lock.yaml") ? "pnpm test" : "npm test --silent";
  }
  return BY_FILE.find(([files]) => files.split(" ").every(has))?.[1];
}
