import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { test } from "node:test";
import { importsIn, reaching } from "../_imports.ts";
import { filesUnder, LIB } from "./_files.ts";

/** The floors of the kernel from the ground up: a room imports itself and what is on floors below. Extensions stand on all of them. */
const FLOORS: readonly (readonly string[])[] = [
  ["core", "regex"],
  ["input", "runtime"],
  ["process"],
  ["files", "http", "telemetry"],
  ["permissions"],
  ["hooks", "models"],
  ["tools"],
  ["log", "mcp"],
  ["replay"],
  ["agent"],
  ["testing"],
  ["index.ts"],
  ["cli"],
  ["extensions"],
];

/** Upward imports that are meant, each with its reason. */
const ALLOWED = new Map([
  [
    "agent/agent.ts → cli/run-agent.ts",
    "agent.main() is the script's own command line; loaded only when called, and given the agent",
  ],
  ["cli/kit/extension.ts → extensions/list.ts", "the list itself, loaded when a command or a gift is looked for"],
  ["cli/kit/run-gifts.ts → extensions/early.ts", "what every run asks for, without the list"],
  ["cli/main.ts → extensions/early.ts", "what must answer before anything is loaded"],
  [
    "testing/replay-fixture.ts → cli/kit/extension.ts",
    "kept faults are tried by the extension that found them; loaded only if there are any",
  ],
  ["testing/index.ts → extensions/testing.ts", "what extensions add to the entry"],
]);

const roomOf = (path: string) => path.split("/")[0]!;

function floorOf(path: string): number {
  const floor = FLOORS.findIndex((rooms) => rooms.includes(roomOf(path)));
  assert.notEqual(floor, -1, `${path} is on no floor: name its folder in test/house/imports.test.ts`);
  return floor;
}

const imports = importsIn("lib").map(({ from, to, ...how }) => ({
  from: relative("lib", from),
  to: relative("lib", to),
  ...how,
}));

test("rooms never import each other in a circle: imports always point down the floors, but for those that are meant", () => {
  assert.ok(imports.length > 500, "the search sees imports");
  const upward = imports
    .filter(({ from, to }) => roomOf(from) !== roomOf(to) && floorOf(to) >= floorOf(from))
    .map(({ from, to }) => `${from} → ${to}`);
  assert.deepEqual(new Set(upward), new Set(ALLOWED.keys()));
});

test("only the public API is a file beside the folders", () => {
  assert.deepEqual(readdirSync(LIB).filter((name) => name.includes(".")).sort(), ["index.ts"]);
});

/** The circles among files, each as its files in order: two files are in one if each reaches the other. */
function circles(edges: readonly { readonly from: string; readonly to: string }[]): string[] {
  const next = Map.groupBy(edges, ({ from }) => from);
  const reach = (start: string): Set<string> => {
    const seen = new Set<string>();
    for (const queue = [start]; queue.length > 0;) {
      for (const { to } of next.get(queue.pop()!) ?? []) if (!seen.has(to) && seen.add(to)) queue.push(to);
    }
    return seen;
  };
  const reached = new Map([...next.keys()].map((file) => [file, reach(file)]));
  const found = [...reached].filter(([file, seen]) => seen.has(file)).map(([file, seen]) =>
    [...seen].filter((other) => reached.get(other)?.has(file)).sort().join(", ")
  );
  return [...new Set(found)];
}

test("files never import each other in a circle, but for types and the arrows that are meant", () => {
  assert.deepEqual(circles([{ from: "a", to: "b" }, { from: "b", to: "a" }, { from: "b", to: "c" }]), ["a, b"]);
  const values = imports.filter(({ isType, from, to }) => !isType && !ALLOWED.has(`${from} → ${to}`));
  assert.ok(values.length > 500 && values.length < imports.length, "the search tells types from values");
  assert.deepEqual(circles(values), []);
});

test("a circle of types never has more than four files", () => {
  assert.deepEqual(
    circles(imports.filter(({ isStatic }) => isStatic)).filter((circle) => circle.split(", ").length > 4),
    [],
  );
});

test("the core never imports anything of ours but itself", () => {
  const ofCore = imports.filter(({ from }) => from.startsWith("core/"));
  assert.ok(ofCore.length > 100, "the search sees imports");
  assert.deepEqual(ofCore.filter(({ to }) => !to.startsWith("core/")), []);
});

test("imports of the core and of the agent never form a circle, not even of types", () => {
  const below = new Map<string, string[]>();
  for (const { from, to } of imports) if (/^(core|agent)\b/.test(from)) below.set(from, [...below.get(from) ?? [], to]);
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) assert.fail([...path.slice(path.indexOf(file)), file].join(" → "));
    if (done.has(file)) return;
    for (const to of below.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of below.keys()) visit(file, []);
  assert.ok(done.size > 40, "the walk saw the files");
});

/** A file `x.ts` may use what is in the folder `x/` beside it. */
function isAtHome(from: string, home: string): boolean {
  return `${from.replace(/\.ts$/, "")}/`.startsWith(home === "." ? "" : `${home}/`);
}

test("a file whose name begins with _ is never imported from outside its folder", () => {
  const internal = imports.filter(({ to }) => basename(to).startsWith("_"));
  assert.ok(internal.length > 20, "there are such files");
  assert.deepEqual(internal.filter(({ from, to }) => !isAtHome(from, dirname(to))), []);
});

/** Who may name the SDK as a value: the model, and the proof that an imported tape says to the SDK what was recorded. */
const OF_THE_SDK = ["extensions/import/import.ts", "models/anthropic/anthropic-model.ts"];

test("only the model and the proof of an import ever name the SDK as a value", () => {
  const naming = filesUnder(LIB, ".ts")
    .filter((file) =>
      /^(?!import type).*["']@anthropic-ai\/sdk/m.test(readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\//g, ""))
    )
    .map((file) => relative(LIB, file));
  assert.deepEqual(naming, OF_THE_SDK);
});

test("crochet and a run never load a package or a module of node: all that is heavy comes by dynamic import", () => {
  const seen = new Set<string>();
  const heavy: string[] = [];
  const visit = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
    for (const [, clause, to] of text.matchAll(/^(?:import|export)\b([^;]*?)from "([^"]+)";/gm)) {
      if (/^\s*type\b/.test(clause!)) continue;
      if (to!.startsWith(".")) visit(join(dirname(file), to!));
      else heavy.push(`${relative(LIB, file)} → ${to}`);
    }
  };
  visit(join(LIB, "index.ts"));
  visit(join(LIB, "agent/assemble.ts"));
  assert.ok(seen.size > 20, "the walk saw the library");
  assert.deepEqual(heavy, []);
});

test("a change always reaches the tests that import it, by whatever way, and never one that does not", () => {
  const found = reaching(["lib/extensions/attack/shrink.ts"], importsIn("lib", "test"));
  assert.ok(found.has("test/extensions/attack/command.once.more.test.ts"), "by the command, which starts lib/attack");
  assert.ok(!found.has("test/house/english.test.ts") && !found.has("lib/core/fold.ts"));
});

/** Files that use state and open others too, each with its reason. */
const OPEN_OTHERS = new Map([
  ["cli/kit/find-hooks.ts", "reads the scripts of a folder"],
  ["extensions/setup/doctor.ts", "looks at the machine"],
  ["cli/record.ts", "writes beside the tape, which is no state"],
  ["extensions/view/command.ts", "writes the page where --out says"],
  ["hooks/install.ts", "writes the settings of other hosts"],
  ["hooks/sources.ts", "reads the hooks of a project, and asks where the user's are"],
]);

test("what opens state opens it by lib/files/state.ts alone, but for those that open other files too", () => {
  const users = imports.filter(({ to }) => to === "files/state.ts").map(({ from }) => from);
  assert.ok(users.length > 20, "the search sees who uses state");
  const both = users.filter((file) =>
    /from "node:fs(\/promises)?"|import\("node:fs/.test(readFileSync(join(LIB, file), "utf8"))
  );
  assert.deepEqual(new Set(both), new Set(OPEN_OTHERS.keys()));
  assert.ok(OPEN_OTHERS.size <= 6);
});

/** Files that remove a folder with all in it themselves, each with its reason. */
const REMOVE_TREES = new Map([
  ["files/tree.ts", "is the way"],
  ["files/state.ts", "removes what Crochet alone writes"],
  ["files/drafts.ts", "removes what ended processes left, as far as it may be"],
  ["agent/hook-services.ts", "is loaded by every run, and removes one script"],
  ["cli/kit/runtime.ts", "is loaded by every command, and does without if another process is at it"],
  ["hooks/folder.ts", "is loaded by every run, and removes what a built program brought"],
  ["hooks/serving/env.ts", "runs in the time of a hook, and removes what is days old"],
  ["hooks/install-plugin.ts", "removes from a project of the user, where nothing is unlocked"],
  ["extensions/setup/init.ts", "removes from a project of the user, where nothing is unlocked"],
  ["extensions/attack/keep.ts", "removes from a project of the user, where nothing is unlocked"],
  ["extensions/attack/grammar/operations.ts", "is the text of a command that is tried"],
]);

test("a folder in which a process may still write is removed by removeTree() alone", () => {
  const removing = filesUnder(LIB, ".ts").filter((file) =>
    /\brmSync\([^;]*recursive: true/.test(readFileSync(file, "utf8"))
  );
  assert.deepEqual(new Set(removing.map((file) => relative(LIB, file))), new Set(REMOVE_TREES.keys()));
});

/** Files that name the folder of state themselves, each with its reason. */
const NAME_STATE = new Map([
  ["files/state.ts", "is the way"],
  [
    "hooks/serving/env.ts",
    "runs in the time of a hook: loads nothing, and writes new files below the user's own folder",
  ],
  [
    "extensions/monitor/note.ts",
    "runs in the time of a hook: loads nothing, and writes new files below the user's own folder",
  ],
  ["replay/fixture.ts", "compares a name, and opens nothing"],
  ["replay/scratch.ts", "leaves it out of copies"],
  ["permissions/_path-rule.ts", "guards it by its name"],
  ["permissions/later-code.ts", "guards it by its name"],
]);

test("where state lies is said in lib/files/state.ts alone", () => {
  const named = filesUnder(LIB, ".ts").filter((file) =>
    /["/]\.crochet(\/agents)?["`]/.test(readFileSync(file, "utf8"))
  );
  assert.deepEqual(new Set(named.map((file) => relative(LIB, file))), new Set(NAME_STATE.keys()));
});

test("a file of lib asks where it is by the url and the folder alone, which the bundle of the hook knows", () => {
  const others = filesUnder(LIB, ".ts").filter((file) =>
    /\bimport\.meta\.(?!url\b|dirname\b|main\b)\w/.test(readFileSync(file, "utf8"))
  );
  assert.deepEqual(others.map((file) => relative(LIB, file)), []);
});

test("only runtime/own-copy.ts counts folders up to the package: a moved file must not break silently", () => {
  const counts = filesUnder(LIB, ".ts").filter((file) =>
    /new URL\(["`]\.\.|dirname\(dirname\(import\.meta|import\.meta\.dirname\}?[^;\n]*\.\.|dirname\(\w+\)[^;\n]*["`]\.\.\//
      .test(
        readFileSync(file, "utf8"),
      )
  );
  // The adapters are copied into a project, and count from there.
  assert.deepEqual(counts.map((file) => relative(LIB, file)), ["hooks/adapters/asking.ts"]);
});
