import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PAGE = readFileSync(join(ROOT, "docs/test-your-hooks.md"), "utf8");

/** Blocks of the page that are a file (```sh hooks/stop.sh) or a session (```console), in their order. */
const BLOCKS = [...PAGE.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm)]
  .map(([, language, file, text]) => ({ language: language!, file, text: text! }))
  .filter(({ language, file }) => language === "console" || file !== undefined);

/** A reader's project: with crochet installed, and otherwise empty. */
function project(): { path: string; env: NodeJS.ProcessEnv } & Disposable {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "crochet-docs-")));
  mkdirSync(join(path, "node_modules/.bin"), { recursive: true });
  symlinkSync(ROOT, join(path, "node_modules/crochet"));
  symlinkSync(join(ROOT, "lib/cli/crochet"), join(path, "node_modules/.bin/crochet"));
  const bins = [join(path, "node_modules/.bin"), join(ROOT, "node_modules/.bin"), process.env.PATH];
  const env = { ...process.env, PATH: bins.join(delimiter), NO_COLOR: "1", CROCHET_HOME: join(path, ".crochet") };
  return { path, env, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

function run(line: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve) => {
    execFile("/bin/sh", ["-c", `${line} 2>&1`], { cwd, env, timeout: 180_000 }, (_error, stdout) => resolve(stdout));
  });
}

/** The lines a page shows must come, in their order; … stands for anything. */
function assertShows(output: string, shown: string, line: string): void {
  const lines = output.split("\n");
  let at = 0;
  for (const expected of shown.trimEnd().split("\n").filter((text) => text.trim() !== "" && text.trim() !== "…")) {
    const parts = expected.trim().split("…").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const pattern = new RegExp(`^\\s*${parts.join(".*")}\\s*$`);
    const found = lines.findIndex((text, i) => i >= at && pattern.test(text));
    assert.ok(found >= 0, `'${line}' does not show '${expected}' but:\n${output}`);
    at = found + 1;
  }
}

const skip = "Deno" in globalThis && "the page is played once, under Bun";

test("what docs/test-your-hooks.md tells a reader to write and run shows what it says it shows", {
  skip,
  timeout: 240_000,
}, async () => {
  using place = project();
  let commands = 0;
  for (const { language, file, text } of BLOCKS) {
    if (language !== "console") {
      mkdirSync(dirname(join(place.path, file!)), { recursive: true });
      writeFileSync(join(place.path, file!), text);
      if (file!.endsWith(".sh")) chmodSync(join(place.path, file!), 0o755);
      continue;
    }
    const [first, ...shown] = text.split("\n");
    assert.match(first!, /^\$ /);
    assertShows(await run(first!.slice(2), place.path, place.env), shown.join("\n"), first!);
    commands++;
  }
  assert.ok(commands >= 5, "the page has sessions");
});

test("every law, field and matcher the page names is one there is", async () => {
  const { LAWS } = await import("../../lib/testing/check/report/report.ts");
  const { matchers } = await import("../../lib/testing/index.ts");
  for (const law of LAWS) assert.ok(PAGE.includes(`| **${law}** |`), law);
  for (const name of Object.keys(matchers)) assert.ok(PAGE.includes(`\`${name}\``), name);
  for (const field of ["event", "expect", "given", "fix", "after", "env", "says"]) {
    assert.ok(PAGE.includes(`\`${field}\``), field);
  }
});
