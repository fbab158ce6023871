import fc from "fast-check";
import { parse, visit } from "jsonc-parser";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { HookRecord } from "../../lib/core/hook.ts";
import { readHookFile } from "../../lib/hooks/discover.ts";
import { recordBase } from "../../lib/hooks/file/hook-record.ts";
import { carryOut, planInstall, planUninstall } from "../../lib/hooks/install.ts";
import { withEntries, withoutEntries } from "../../lib/hooks/install-text.ts";
import { tries } from "../_counts.ts";
import { scratch } from "../_scratch.ts";

const handler = fc.record({ type: fc.constant("command"), command: fc.string(), timeout: fc.nat() }, {
  requiredKeys: ["type", "command"],
});
const group = fc.record({
  matcher: fc.constantFrom("Bash", "", "*", "Edit|Write"),
  hooks: fc.array(handler, { maxLength: 3 }),
}, { requiredKeys: ["hooks"] });
const events = fc.dictionary(
  fc.constantFrom("Stop", "PreToolUse", "PostToolUse", "Notification", "Other"),
  fc.array(group, { maxLength: 3 }),
);
const settings = fc.record({
  hooks: events,
  model: fc.string(),
  permissions: fc.record({ allow: fc.array(fc.string(), { maxLength: 2 }) }),
  "weird key \u00e9": fc.jsonValue({ maxDepth: 2 }),
}, { requiredKeys: [] });

/** The same settings, written as people and programs write them. */
const settingsText = fc.tuple(
  settings,
  fc.constantFrom(undefined, "  ", "    ", "\t"),
  fc.boolean(),
  fc.boolean(),
  fc.boolean(),
  fc.constantFrom("", "\n", "\n\n", "  "),
).map(([value, indent, crlf, comments, bom, end]) => {
  let text = JSON.stringify(value, null, indent) + end;
  if (comments) text = `// mine: { "hooks": 1 }\n${text.replace("{", '{ /* "a" */')}`;
  if (comments && indent !== undefined) text = text.replace(/([\]}"\d])\n(\s*[\]}])/g, "$1,\n$2");
  if (crlf) text = text.replaceAll("\n", "\r\n");
  return (bom ? "\uFEFF" : "") + text;
});
const file = fc.oneof({ weight: 8, arbitrary: settingsText }, {
  weight: 1,
  arbitrary: fc.constantFrom("", "\n", "{}", "{ }", "{\n}\n"),
});

const NAMES = ["stop.a.sh", "10-pre-tool-use@Bash.b.sh", "post-tool-use.c.sh", "notification.d.sh", "turn-start.e.sh"];

// Kills: a file that is parsed and printed, a comment lost, a key reordered, an empty list taken away.
test("installing and then uninstalling any settings file is always the identity, to the byte", async () => {
  using folder = scratch();
  mkdirSync(`${folder.path}/hooks`);
  for (const name of NAMES) writeFileSync(`${folder.path}/hooks/${name}`, "");
  const hooks = NAMES.map((name) => {
    const hookFile = readHookFile(`${folder.path}/hooks/${name}`);
    return { file: hookFile, record: recordBase(hookFile, {}, "hooks") as HookRecord };
  });
  const env = { HOME: `${folder.path}/home` };
  const path = `${folder.path}/.claude/settings.json`;
  const written = () => existsSync(path) ? readFileSync(path, "utf8") : undefined;
  await fc.assert(
    fc.asyncProperty(
      fc.option(file, { nil: undefined }),
      // A folder of which nothing can be installed is refused.
      fc.subarray(hooks).filter((some) => some.some(({ file }) => file.event !== "turn-start")),
      async (before, some) => {
        const place = { host: "claude", scope: "project", cwd: folder.path, env } as const;
        if (before !== undefined) {
          mkdirSync(`${folder.path}/.claude`, { recursive: true });
          writeFileSync(path, before);
        }
        try {
          carryOut(await planInstall(some, place), env);
          const installed = written();
          // Only turn-start has no event like it there.
          for (const { file } of some.filter(({ file }) => file.event !== "turn-start")) {
            assert.ok(installed?.includes(`/hooks/${file.name}\\"`), `${file.name} is not installed`);
          }
          carryOut(await planInstall(some, place), env);
          assert.equal(written(), installed, "installing twice is installing once");
          if (before !== undefined) assertKept(before, installed!);
          carryOut(await planUninstall(`${folder.path}/hooks`, place), env);
          assert.equal(written(), before);
        } finally {
          rmSync(`${folder.path}/.claude`, { recursive: true, force: true });
        }
      },
    ),
    { numRuns: tries(50, 1500, 100) },
  );
});

/** All that was there is there, in its place. */
function assertKept(before: string, after: string): void {
  const read = (text: string) => parse(text.replace(/^\uFEFF/, ""), [], { allowTrailingComma: true }) ?? {};
  const [old, now] = [read(before), read(after)];
  for (const key of Object.keys(old)) if (key !== "hooks") assert.deepEqual(now[key], old[key]);
  for (const [event, groups] of Object.entries(old.hooks ?? {}) as [string, unknown[]][]) {
    assert.deepEqual(now.hooks[event].slice(0, groups.length), groups);
  }
  visit(before, {
    onComment: (at, length) => assert.ok(after.includes(before.slice(at, at + length).trimEnd())),
  });
}

// Kills: taking out by place and not by name, taking out what a person wrote.
test("without what was kept, taking our entries out always leaves the settings as they were, whatever else was added", async () => {
  const ours = (n: number) => ({ event: "Stop", hook: { type: "command" as const, command: `ours ${n}` } });
  await fc.assert(
    fc.asyncProperty(settingsText, fc.integer({ min: 1, max: 3 }), async (before, n) => {
      const entries = Array.from({ length: n }, (_, i) => ours(i));
      const after = await withEntries(before, entries);
      const later = await withEntries(after, [{ event: "Later", hook: { type: "command", command: "theirs" } }]);
      const left = await withoutEntries(later, ({ hook }) => hook.command.startsWith("ours "));
      const read = (text: string) => parse(text.replace(/^\uFEFF/, ""), [], { allowTrailingComma: true });
      const expected = read(
        await withEntries(before, [{ event: "Later", hook: { type: "command", command: "theirs" } }]),
      );
      if (expected.hooks.Stop?.length === 0) delete expected.hooks.Stop;
      const got = read(left);
      if (got.hooks.Stop?.length === 0) delete got.hooks.Stop;
      assert.deepEqual(got, expected);
    }),
    { numRuns: tries(50, 1500, 100) },
  );
});

const full = fc.record({
  hooks: fc.dictionary(
    fc.constantFrom("Stop", "PreToolUse", "Other"),
    fc.array(group, { minLength: 1, maxLength: 3 }),
    { minKeys: 1 },
  ),
  model: fc.string(),
}, { requiredKeys: ["model"] });

// Kills: a neighbour that is formatted anew, a comma or a blank left behind, a depth that is not the file's.
test("what is put in is always printed as its file is, and taking it out gives the same bytes, unless a list was empty or a comma trailing", async () => {
  const entries = ["Stop", "New"].map((event) => ({ event, hook: { type: "command" as const, command: "ours" } }));
  await fc.assert(
    fc.asyncProperty(
      full,
      fc.constantFrom(undefined, "  ", "\t"),
      fc.constantFrom("", "\n"),
      async (value, indent, end) => {
        const before = `${JSON.stringify(value, null, indent)}${end}`;
        const after = await withEntries(before, entries);
        assert.notEqual(after, before);
        assert.equal(after, `${JSON.stringify(parse(after), null, indent)}${end}`);
        assert.equal(await withoutEntries(after, ({ hook }) => hook.command === "ours"), before);
      },
    ),
    { numRuns: tries(50, 1500, 100) },
  );
});
