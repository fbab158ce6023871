import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import runCommand from "../../lib/cli/run.ts";
import trust from "../../lib/cli/trust.ts";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";
import { LIB, OUR_RUNTIME } from "../_runtime.ts";

const MAKE = { tools: [{ name: "Bash", input: { command: "touch made" } }] };

test("permissions: flag, then script, then trusted config, then asking; deny rules of each always hold", async () => {
  const script = (permissions: string) =>
    `import { agent } from "${LIB}/index.ts";\nimport { Bash } from "${LIB}/tools/index.ts";\n` +
    `import { scripted } from "${LIB}/models/scripted.ts";\nconst replies = [${
      JSON.stringify(MAKE)
    }, { text: "ok" }];\n` +
    `const model = scripted([...replies, ...replies, ...replies, ...replies]);\n` +
    `const made = agent({ from: import.meta.url, tools: [Bash], model${permissions} });\n` +
    `export default made;\nif (import.meta.main) await made.main();\n`;
  using here = place({
    "bypass.ts": script(", permissions: { mode: 'bypass' }"),
    "silent.ts": script(""),
    "denies.ts": script(", permissions: { deny: ['Bash(touch *)'] }"),
  });
  const made = () => {
    const path = join(here.cwd, "made");
    const was = existsSync(path);
    rmSync(path, { force: true });
    return was;
  };
  const runs = async (...args: string[]) => {
    const { code, err } = await here.call(runCommand, ...args, "go");
    assert.equal(code, 0, err);
    return made();
  };
  const config = async (permissions: string) => {
    here.put({ ".crochet/config.yaml": `permissions: ${permissions}\n` });
    await here.call(trust);
  };
  const flag = (mode: string) => ["--permission-mode", mode];
  await ended([...OUR_RUNTIME, "bypass.ts", "go"], { cwd: here.cwd, env: { HOME: here.home } });
  assert.equal(made(), true, "main() has the script's mode");
  assert.equal(await runs("bypass.ts"), true, "so has its command");
  assert.equal(await runs("bypass.ts", ...flag("default")), false, "the flag is before the script");
  assert.equal(await runs("silent.ts"), false, "without any, it asks");
  await config("{ mode: bypass }");
  assert.equal(await runs("silent.ts"), true, "the project is before asking");
  await config("{ mode: plan }");
  assert.equal(await runs("bypass.ts"), true, "the script is before the project");
  await config("{ deny: ['Bash(touch *)'] }");
  assert.equal(await runs("bypass.ts"), false, "a deny rule of the project holds");
  assert.equal(await runs("denies.ts", ...flag("bypass")), false, "a deny rule of the script holds");
});
