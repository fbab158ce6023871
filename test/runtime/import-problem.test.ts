import assert from "node:assert/strict";
import { test } from "node:test";
import { importProblem } from "../../lib/runtime/importing.ts";

const unread = (extension: string) =>
  Object.assign(new TypeError(`Unknown file extension "${extension}" for /repo/a${extension}`), {
    code: "ERR_UNKNOWN_FILE_EXTENSION",
  });

const PROBLEMS: readonly (readonly [what: string, error: unknown, problem: object])[] = [
  ["one that it threw", new Error("no luck\nat all"), { words: "no luck" }],
  ["no error at all", "no luck", { words: "no luck" }],
  ["nothing", undefined, { words: "undefined" }],
  [
    "a mistake whose place the runtime knows",
    Object.assign(new Error("Unexpected end of file"), { position: { file: "/a.ts", line: 3, column: 7 } }),
    { words: "Unexpected end of file", place: "/a.ts:3:7" },
  ],
  [
    "several mistakes",
    new AggregateError([
      Object.assign(new Error("Unexpected y"), { position: { file: "/a.ts", line: 1, column: 2 } }),
      new Error("Unexpected z"),
    ], '2 errors building "/a.ts"'),
    { words: "Unexpected y", place: "/a.ts:1:2" },
  ],
  ["TypeScript for a Node that reads none", unread(".ts"), {
    words: "this Node reads no TypeScript: run it with Bun, Deno, or Node 22.18 or newer",
  }],
  ...["Cannot use import statement outside a module", "Unexpected token 'export'"].map((message) =>
    [`a module in a package that says it has none: ${message}`, new SyntaxError(message), {
      words: `Node takes it for CommonJS: put "type": "module" into package.json, or name it .mts or .mjs`,
    }] as const
  ),
  [
    "a syntax error, as Bun says it",
    Object.assign(new Error("Unterminated string literal"), {
      name: "BuildMessage",
      position: { file: "/a.ts", line: 1, column: 33 },
    }),
    { words: "it has a syntax error: Unterminated string literal", place: "/a.ts:1:33" },
  ],
  [
    "a syntax error, as Deno says it",
    new TypeError('SyntaxError: Unterminated string constant\n  |\n1 | "x\n  | ~~\n    at file:///a.ts:1:33'),
    { words: "it has a syntax error: Unterminated string constant", place: "/a.ts:1:33" },
  ],
  ["another mistake in a script", new SyntaxError("Unexpected token 'expert'"), { words: "Unexpected token 'expert'" }],
  ["another kind of file", unread(".txt"), { words: 'Unknown file extension ".txt" for /repo/a.txt' }],
];

for (const [what, error, problem] of PROBLEMS) {
  test(`importProblem() says in one line why a module cannot be imported: ${what}`, () => {
    assert.deepEqual(importProblem(error), problem);
  });
}
