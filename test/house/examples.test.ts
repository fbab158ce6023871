import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { OUR_RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";
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

for (const { where, code } of [...inComments(), ...inPages()]) {
  test(`the example of ${where} runs as it stands`, () => {
    using folder = scratch();
    try {
      const file = join(folder.path, "example.ts");
      writeFileSync(
        file,
        code.replace(/from "(crochet[\w/-]*)"/g, (whole, name: string) => {
          const entry = ENTRIES[name];
          return entry === undefined ? whole : `from ${JSON.stringify(pathToFileURL(join(ROOT, entry)).href)}`;
        }).replace(/from "(fast-check)"/g, (_, name: string) => `from ${JSON.stringify(import.meta.resolve(name))}`),
      );
      const [program, ...args] = OUR_RUNTIME;
      const env = {
        ...process.env,
        ANTHROPIC_API_KEY: "",
        ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
        CROCHET_HOME: join(folder.path, ".crochet"),
      };
      execFileSync(program, [...args, file], { cwd: folder.path, env, stdio: "pipe", timeout: 120_000 });
    } catch (error) {
      assert.fail(`${where}: ${(error as { stderr?: unknown }).stderr ?? error}`);
    }
  });
}
