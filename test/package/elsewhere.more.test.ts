/** What `crochet init` makes in one place, committed, is whole in any other, where the clone that made it is not. */
import assert from "node:assert/strict";
import { readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { scratch } from "../_scratch.ts";
import { npmFolder } from "./_first-project.ts";
import { alone, clone, run, runIn } from "./_install.ts";
import { test } from "./_online.ts";

const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));
const skip = "Deno" in globalThis
  ? "each way is tried once, under Bun"
  : !process.env.CROCHET_TEST_LONG && "it installs packages: CROCHET_TEST_LONG=1";

const WAYS = [
  { way: "bun", lines: ["bun install --frozen-lockfile", "bun test", "bunx --no-install crochet replay --trust"] },
  { way: "npm", lines: ["npm install", "npm test", "npx --no-install crochet replay --trust"] },
  {
    way: "deno",
    lines: ["deno test -A --quiet", "deno task check", "deno run -A --quiet npm:crochet@VERSION replay --trust"],
  },
] as const;

for (const { way, lines } of WAYS) {
  test(
    `a project of crochet init works in a clone of it elsewhere, by ${way} alone`,
    { skip, timeout: 1_200_000 },
    () => {
      using folder = scratch();
      const copy = clone(join(folder.path, "crochet"));
      symlinkSync(MODULES, join(copy, "node_modules"));
      const deno = run(copy, join(MODULES, ".bin/deno"), "eval", "console.log(Deno.execPath())").trim();
      const paths = {
        bun: () => alone(folder.path, "bun", join(MODULES, ".bin/bun")),
        npm: () => `${npmFolder()}:/usr/bin:/bin`,
        deno: () => alone(folder.path, "deno", deno),
      };
      const path = paths[way]();
      const started = way === "deno"
        ? [deno, "run", "-A", "--quiet", "--config", join(copy, "deno.json")]
        : [process.execPath, "run"];
      const here = (cwd: string, line: string) => runIn(cwd, path, "sh", "-c", line);
      const bot = join(folder.path, "bot");
      here(folder.path, [...started, join(copy, "lib/cli/main.ts"), "init", "bot"].join(" "));
      here(bot, "git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm first");
      assert.throws(() => run(folder.path, "grep", "-rI", folder.path, "bot"), "no file names this machine");
      renameSync(copy, join(folder.path, "gone"));
      here(folder.path, "git clone -q bot mate");
      const { version } = JSON.parse(readFileSync(join(folder.path, "gone/package.json"), "utf8"));
      const outs = lines.map((line) => here(join(folder.path, "mate"), `${line.replace("VERSION", version)} 2>&1`));
      assert.match(outs[way === "deno" ? 0 : 1]!, /5 pass/);
      assert.match(outs[2]!, /fix-spelling +held/);
    },
  );
}
