import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { filesUnder, LIB, ROOT } from "./_files.ts";

const ENTRIES: Record<string, string> = JSON.parse(readFileSync(join(ROOT, "deno.json"), "utf8")).imports;

interface Example {
  readonly where: string;
  readonly code: string;
}

/** Every example of a doc comment, with the comment's stars taken off. */
function inComments(): Example[] {
  return filesUnder(LIB, ".ts").flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^ \* ```ts\n([\s\S]*?)^ \* ```$/gm)].map(([, body], n) => ({
      where: `${relative(ROOT, file)} example ${n + 1}`,
      code: body!.replace(/^ \* ?/gm, ""),
    }))
  );
}

/** Every TypeScript block of the README and the pages under docs; tests among them are run by their page's own commands. */
function inPages(): Example[] {
  const pages = [
    join(ROOT, "README.md"),
    ...filesUnder(join(ROOT, "docs"), ".md"),
    ...filesUnder(join(ROOT, "hooks"), ".md"),
  ];
  return pages.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, body], n) => ({
      where: `${relative(ROOT, file)} block ${n + 1}`,
      code: body!,
    }))
  ).filter(({ code }) => !/^\/\/ \S+\.test\.ts\n/.test(code));
}

// Not by their names: what npm installs as `deno` is a script for Node that starts it.
const runtime = "Deno" in globalThis
  ? [process.execPath, "run", "-A", "--no-check", "--quiet", `--config=${ROOT}/deno.json`]
  : [process.execPath, "run"];

for (const { where, code } of [...inComments(), ...inPages()]) {
  test(`the example of ${where} runs as it stands`, () => {
    const dir = mkdtempSync(join(tmpdir(), "crochet-example-"));
    try {
      const file = join(dir, "example.ts");
      writeFileSync(
        file,
        code.replace(/from "(crochet[\w/-]*)"/g, (whole, name: string) => {
          const entry = ENTRIES[name];
          return entry === undefined ? whole : `from ${JSON.stringify(pathToFileURL(join(ROOT, entry)).href)}`;
        }).replace(/from "(fast-check)"/g, (_, name: string) => `from ${JSON.stringify(import.meta.resolve(name))}`),
      );
      const [command, ...args] = runtime;
      const env = {
        ...process.env,
        ANTHROPIC_API_KEY: "",
        ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
        CROCHET_HOME: join(dir, ".crochet"),
      };
      execFileSync(command!, [...args, file], { cwd: dir, env, stdio: "pipe", timeout: 120_000 });
    } catch (error) {
      assert.fail(`${where}: ${(error as { stderr?: unknown }).stderr ?? error}`);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
}
