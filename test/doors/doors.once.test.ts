import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { History } from "../../lib/extensions/chat/chat-desk.ts";
import { withEnv } from "../_env.ts";
import { place } from "../_place.ts";
import { scratch } from "../_scratch.ts";
import { type Call, CASES, runDoors } from "./_doors.ts";

/** A command line, or a script, in this process; all else in one of its own. */
function here(): Call {
  const at = place();
  return async (argv, given, real) => {
    const [program = "", ...args] = argv;
    if (program.endsWith("/crochet")) {
      return { ...await at.main(args, given.env, given.input, given.cwd), late: false };
    }
    // One with a prompt is the main module, which only a process has.
    if (program !== "bun" || args.length > 2) return await real(argv, given, real);
    return await withEnv(given.env, async () => {
      const [log, cwd] = [console.log, process.cwd()];
      let out = "";
      console.log = (...parts) => void (out += `${parts.join(" ")}\n`);
      process.chdir(given.cwd);
      try {
        await import(join(given.cwd, args[1]!));
        return { code: 0, out, err: "", late: false };
      } catch (error) {
        return { code: 1, out, err: String(error), late: false };
      } finally {
        console.log = log;
        process.chdir(cwd);
      }
    });
  };
}

const FIRST = [...Map.groupBy(CASES.filter(({ steps }) => !steps.some(({ pty }) => pty)), ({ decision }) => decision)]
  .map(([, [first]]) => first!);

test(`DOORS: each of ${FIRST.length} decisions, at one of its doors`, async () => {
  using folder = scratch();
  const rows = await runDoors(FIRST, folder.path, here());
  assert.equal(rows.length, FIRST.length);
  assert.deepEqual(rows.filter(({ ok }) => !ok).map(({ id, why }) => `${id}: ${why}`), []);
});

test("DOORS 1: what is typed in a chat never goes through a link", () => {
  using folder = scratch({ "rc": "# mine\n", ".crochet/chat/.keep": "" });
  const link = join(folder.path, ".crochet/chat/history.jsonl");
  symlinkSync(join(folder.path, "rc"), link);
  assert.throws(() => new History(folder.path, { HOME: "/home" }), {
    name: "TypeError",
    message: `Cannot use ${link} as it is a link: remove it`,
  });
});
