/** The library as JSR gives it to Deno: modules from addresses, with nothing on the disk but the packages it needs. */
import assert from "node:assert/strict";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { put, scratch } from "../_scratch.ts";
import { serve } from "../_server.ts";
import { AGENT, HOOK } from "./_sources.ts";
import { ROOT } from "../_runtime.ts";

const skip = "Deno" in globalThis && "Deno is started once, under Bun";

/** Each says why it cannot work there, and what to install. */
const REFUSED = `
import { writeFileSync } from "node:fs";
import { checkHook, laws } from "crochet/testing";
writeFileSync("stop.once.sh", "exit 0");
for (const ask of [checkHook, laws.all]) await ask("stop.once.sh").catch(({ message }) => console.log(message));
`;

test("from addresses an agent runs with its folder of hooks, and what starts files says what to install", {
  skip,
}, async () => {
  using server = await serve(({ url }, response) => {
    const file = join(ROOT, decodeURIComponent(url!));
    response.writeHead(200, { "content-type": file.endsWith(".ts") ? "application/typescript" : "application/json" });
    response.end(readFileSync(file));
  });
  const read = (name: string) => JSON.parse(readFileSync(join(ROOT, name), "utf8"));
  const { dependencies, peerDependencies } = read("package.json");
  const imports = Object.fromEntries([
    ...Object.entries<string>(read("deno.json").exports).map(([part, file]) => [
      `crochet${part.slice(1)}`,
      new URL(file, server.url).href,
    ]),
    // JSR writes these out in each module.
    ...Object.entries({ ...dependencies, ...peerDependencies }).flatMap(([name, version]) => [
      [name, `npm:${name}@${version}`],
      [`${name}/`, `npm:/${name}@${version}/`],
    ]),
  ]);
  using folder = scratch({
    "deno.json": JSON.stringify({ nodeModulesDir: "manual", imports }),
    "package.json": JSON.stringify({ type: "module", dependencies, peerDependencies }),
    "hooks/pre-tool-use@Read.secret.ts": HOOK,
  });
  symlinkSync(join(ROOT, "node_modules"), join(folder.path, "node_modules"));
  put(folder.path, { "agent.ts": AGENT, "refused.ts": REFUSED });
  const deno = (...args: string[]) =>
    promisify(execFile)(join(ROOT, "node_modules/.bin/deno"), ["run", "-A", "--quiet", "--no-lock", ...args], {
      cwd: folder.path,
      env: { ...process.env, NO_COLOR: "1", DENO_DIR: join(folder.path, "cache") },
    });
  assert.deepEqual(JSON.parse((await deno("agent.ts")).stdout), {
    stop: "done",
    text: "Hello from the model",
    answers: ["Denied by hook pre-tool-use@Read.secret.ts: it is secret", "HI"],
  });
  const why = "Cannot check hooks as this copy of crochet was loaded from an address: install npm:crochet\n";
  assert.equal((await deno("refused.ts")).stdout, why + why);
  const started = deno(new URL("lib/cli/main.ts", server.url).href, "hooks", "ls");
  await assert.rejects(started, { code: 2, stderr: /^crochet: Cannot run commands from an address .*npm:crochet\n$/ });
});
