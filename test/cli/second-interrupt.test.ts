import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { LIB, OUR_RUNTIME } from "../_runtime.ts";
import { place } from "../_place.ts";
import { Pty } from "../_pty.ts";
import { until } from "../_until.ts";
import { pty } from "../extensions/chat/_chat.ts";

test("Ctrl-C twice ends a run even while a hook loops without end", pty, async () => {
  using here = place({
    "agent.ts": `import { writeFileSync } from "node:fs";
      import { agent } from "${LIB}/index.ts";
      import { scripted } from "${LIB}/testing/index.ts";
      const loops = () => {
        writeFileSync("loops", "");
        for (;;);
      };
      await agent({ from: import.meta.url, model: scripted([{ text: "hi" }]), hooks: { turnStart: loops } }).main();`,
  });
  await using terminal = new Pty([...OUR_RUNTIME, join(here.cwd, "agent.ts"), "go"], {
    cwd: here.cwd,
    env: { HOME: here.home },
  });
  await until("the loop", () => existsSync(join(here.cwd, "loops")));
  terminal.send("\x03");
  await sleep(300);
  assert.equal(terminal.code, undefined);
  terminal.send("\x03");
  assert.equal(await terminal.end(), 137);
});
