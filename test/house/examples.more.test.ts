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

/** One needs a server; the other exports nothing, and points this process at one. */
const UNSHOWN = ["crochet/durable/restate", "crochet/testing/preload"];

/** A test, which its runner runs: by the commands of its page, or in test/testing. */
const OF_A_RUNNER = /^\/\/ \S+\.test\.ts\n/;

interface Example {
  readonly where: string;
  readonly code: string;
  /** The hook files that its page shows. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Every example of a doc comment, with the comment's stars taken off; those of a runner too. */
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
    join(LIB, "core/README.md"),
  ];
  return pages.flatMap((file) => {
    const blocks = [...readFileSync(file, "utf8").matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, body]) => body!);
    const named = blocks.flatMap((code) => {
      const [, name] = /^\/\/ (hooks\/\S+)\n/.exec(code) ?? [];
      return name === undefined ? [] : [[name, code]];
    });
    const files = Object.fromEntries(named);
    return blocks.map((code, n) => ({ where: `${relative(ROOT, file)} block ${n + 1}`, code, files }));
  });
}

test("every function and tool that is exported stands in an example of a doc comment", async () => {
  const code = inComments().map((example) => example.code).join("\n");
  for (const [entry, path] of Object.entries(ENTRIES).filter(([name]) => !UNSHOWN.includes(name))) {
    const imports = code.matchAll(new RegExp(`import \\{([^}]*)\\} from "${entry}"`, "g"));
    const shown = new Set([...imports].flatMap(([, names]) => names!.split(",").map((name) => name.trim())));
    const exported: [name: string, value: unknown][] = Object.entries(
      await import(pathToFileURL(join(ROOT, path)).href),
    );
    const called = exported.filter(([name, value]) =>
      typeof value === "function" ? /^[a-z]/.test(name) : typeof (value as { run?: unknown } | null)?.run === "function"
    );
    assert.ok(called.length > 0);
    assert.deepEqual(called.map(([name]) => name).filter((name) => !shown.has(name)), [], entry);
  }
});

/** What stands behind `console.log(…); //` is printed, word for word and in that order; … stands for anything. */
function assertPrints(code: string, output: string): void {
  const words = (text: string) => text.match(/[^\s"'`,[\]{}()]+/g) ?? [];
  const printed = words(output);
  for (const [, said] of code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)) {
    const wanted = words(said!.split("…")[0]!);
    const at = printed.findIndex((_, i) => wanted.every((word, n) => printed[i + n] === word));
    assert.ok(at >= 0, `it does not print '${said}' but '${output.trimEnd()}'`);
    printed.splice(0, at + wanted.length);
  }
}

for (
  const { where, code, files = {} } of [...inComments(), ...inPages()].filter(({ code }) => !OF_A_RUNNER.test(code))
) {
  test(`the example of ${where} runs as it stands, and prints what it says`, () => {
    using folder = scratch(files);
    try {
      const file = join(folder.path, "example.ts");
      writeFileSync(
        file,
        code.replace(/from "(crochet[\w/-]*)"/g, (whole, name: string) => {
          const entry = ENTRIES[name];
          return entry === undefined ? whole : `from ${JSON.stringify(pathToFileURL(join(ROOT, entry)).href)}`;
        }).replace(
          /from "(fast-check|@anthropic-ai\/sdk)"/g,
          (_, name: string) => `from ${JSON.stringify(import.meta.resolve(name))}`,
        ),
      );
      const [program, ...args] = OUR_RUNTIME;
      const env = {
        ...process.env,
        ANTHROPIC_API_KEY: "",
        ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
        CROCHET_HOME: join(folder.path, ".crochet"),
      };
      const options = { cwd: folder.path, env, stdio: "pipe", encoding: "utf8", timeout: 120_000 } as const;
      // An agent that is a program of its own runs with a prompt alone, and there is no model here.
      const words = code.includes(".main()") ? ["--help"] : [];
      assertPrints(code, execFileSync(program, [...args, file, ...words], options));
    } catch (error) {
      assert.fail(`${where}: ${(error as { stderr?: unknown }).stderr ?? error}`);
    }
  });
}
