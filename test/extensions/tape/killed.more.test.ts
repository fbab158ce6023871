import { test } from "node:test";
import { join } from "node:path";
import { existsSync } from "node:fs";
import { CROCHET, start } from "../../_crochet.ts";
import { place } from "../../_place.ts";
import { RUNTIME } from "../../_runtime.ts";
import { isAlive, until } from "../../_until.ts";

test("RECORD 10: a kill of record ends the program that it runs, and its children", async () => {
  const loops = (name: string) =>
    `require("node:fs").writeFileSync(${JSON.stringify(name)}, String(process.pid)); setInterval(() => {}, 1e3);`;
  using here = place({
    "child.cjs": loops("child.pid"),
    "program.cjs": `require("node:child_process").spawn(process.execPath, ["child.cjs"]); ${loops("program.pid")}`,
  });
  const pids = ["program.pid", "child.pid"].map((name) => join(here.cwd, name));
  const words = ["record", "--fixture", "it", "--", ...RUNTIME, "program.cjs"];
  const { kill } = start([...CROCHET, ...words], { cwd: here.cwd, env: { HOME: here.home } });
  await until("both run", () => pids.every((file) => existsSync(file) && isAlive(file)));
  await kill("SIGKILL");
  await until("both have ended", () => !pids.some(isAlive));
});
