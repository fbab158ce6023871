import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import type { Tool } from "../../lib/core/tool.ts";
import { HOST_TOOLS, TOOL_FIELDS } from "../../lib/hooks/known-names.ts";
import { sampleEvent } from "../../lib/hooks/samples.ts";
import { isEdit, isRead, type ToolRow, toolRow, TOOLS } from "../../lib/input/tool-table.ts";
import * as tools from "../../lib/tools/index.ts";
import { filesUnder, LIB } from "../house/_files.ts";

const OURS = Object.values(tools).filter((one): one is Tool => typeof one === "object" && "input_schema" in one);

test("the rows are the tools of crochet/tools, with their fields, and which of these may be absent", () => {
  const rows = Object.entries<ToolRow>(TOOLS).filter(([, { elsewhere }]) => !elsewhere);
  assert.deepEqual(
    Object.fromEntries(rows.map(([name, { fields }]) => [name, fields])),
    Object.fromEntries(OURS.map(({ name, input_schema: { properties = {}, required = [] } }) => [
      name,
      Object.keys(properties as object).map((field) => (required as string[]).includes(field) ? field : `${field}?`),
    ])),
    "a row without `elsewhere` is a tool of lib/tools/index.ts",
  );
  for (const { name, input_schema } of OURS) {
    assert.deepEqual(TOOL_FIELDS[name], Object.keys(input_schema.properties ?? {}), name);
  }
});

test("a row says what its tool does where a path leads exactly if it takes one, and as its effect says", () => {
  for (const { name, effect, aliases = [] } of OURS) {
    const takesPath = TOOL_FIELDS[name]!.some((field) => ["file_path", "notebook_path", "path"].includes(field));
    assert.deepEqual([isRead(name), isEdit(name)], [
      takesPath && effect === "read",
      takesPath && effect === "write",
    ]);
    for (const alias of aliases) {
      assert.ok(HOST_TOOLS.includes(alias) && toolRow(alias) === toolRow(name), alias);
    }
  }
});

/** Files that name Glob beside its own and the tables of hosts, each with its reason. */
const NAME_GLOB = new Map([
  ["input/tool-table.ts", "is the table"],
  ["permissions/rules.ts", "its pattern may leave the folder"],
]);

test("no list of tools is kept beside the table", () => {
  const naming = filesUnder(LIB, ".ts").map((file) => relative(LIB, file))
    .filter((file) => !/^(?:tools|hooks\/hosts)\//.test(file))
    .filter((file) => /["(|]Glob["|)]|\bGlob: /.test(readFileSync(join(LIB, file), "utf8")));
  assert.deepEqual(new Set(naming), new Set(NAME_GLOB.keys()));
});

test("the sample of a tool is a call that it takes", async () => {
  for (const tool of OURS) {
    const { input } = sampleEvent("pre-tool-use", { cwd: "/srv", tool: tool.name }) as { input: unknown };
    assert.ok(await tool.parse(input), tool.name);
  }
});
