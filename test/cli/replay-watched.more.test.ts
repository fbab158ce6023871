import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CROCHET } from "../_crochet.ts";
import { type Place, place } from "../_place.ts";
import { NO_PTY, Pty } from "../_pty.ts";
import { LONG, recorded } from "./_recorded.ts";

function copies(here: Place, names: readonly string[]): void {
  const fixtures = join(here.cwd, "fixtures");
  for (const name of names) cpSync(join(fixtures, "fix-the-typo"), join(fixtures, name), { recursive: true });
}

test(
  "a replay that is interrupted never looks like drift that has to be recorded again, and says what it left out",
  LONG,
  async () => {
    using here = place();
    await recorded(here);
    const many = 2 * availableParallelism() + 1;
    copies(here, Array.from({ length: many }, (_, i) => `copy-${i}`));
    // Once, though two replays run at a time: a second signal ends the process at once.
    const interrupts = `export default async () => {
      globalThis.interrupted ??= process.kill(process.pid, "SIGINT");
      await new Promise((end) => setTimeout(end, 200));
    };\n`;
    here.put({ "hooks/stop.ts": interrupts });
    const { code, out, err } = await here.crochet(["replay", "--update", "--trust"]);
    assert.equal(code, 130);
    assert.match(
      out,
      /copy-0 +error[\s\S]*Cannot compare the run with its tape as it was interrupted: replay it again/,
    );
    assert.doesNotMatch(out, /drift|to record again/);
    assert.match(err, new RegExp(`^crochet: interrupted: \\d+ of ${many + 1} were not replayed\n$`));
  },
);

test("a replay that has nowhere to work says which variable names the place", LONG, async () => {
  using here = place();
  await recorded(here);
  const { code, out } = await here.crochet(["replay"], { TMPDIR: join(here.cwd, "none") });
  assert.equal(code, 1);
  assert.match(out, /Cannot make a folder to work in as .*: let TMPDIR name one that may be written to/);
});

test(
  "the line of progress is always written over whole, however long a name is, and never gets into a file",
  { ...LONG, ...(NO_PTY !== undefined && { skip: NO_PTY }) },
  async () => {
    using here = place();
    await recorded(here);
    const long = `${"名".repeat(40)}${"x".repeat(60)}`;
    copies(here, [long]);
    const replayed = async (behind: string, env: Record<string, string> = {}) => {
      await using terminal = new Pty([...CROCHET, "replay", "--trust"], {
        cwd: here.cwd,
        env: { HOME: here.home, ...env },
        columns: 50,
        behind,
      });
      assert.equal(await terminal.end(), 0);
      return { raw: terminal.raw, rows: (await terminal.screen()).split("\n") };
    };
    const { raw, rows } = await replayed("");
    const lines = raw.split("\r\u001b[K");
    assert.ok(lines.some((line) => /^[12]\/2 fix-the-typo$/.test(line)), raw);
    assert.ok(lines.some((line) => /^[12]\/2 名{22}…$/.test(line)), raw);
    assert.match(rows[0]!, /^fixture +$/, rows.join("\n"));
    const dumb = await replayed("", { TERM: "dumb" });
    assert.equal(dumb.raw.includes("\u001b"), false, dumb.raw);
    await replayed(`2> ${join(here.cwd, "err.txt")}`);
    assert.equal(readFileSync(join(here.cwd, "err.txt"), "utf8"), "");
  },
);
