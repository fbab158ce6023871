/** Prints what many edits come to, the same ones each time: `_edit-battery.ts DIRECTORY COUNT`. */
import { Buffer } from "node:buffer";
import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { ToolError } from "../../lib/core/tool.ts";
import { standaloneContext } from "../../lib/tools/standalone.ts";
import { applyEdit, Edit } from "../../lib/tools/index.ts";
import { brokenText, bytes, call, edited, utf8 } from "./_edit-arbitraries.ts";

const [directory, count] = process.argv.slice(2) as [string, string];
const cases = fc.oneof(
  edited.map(({ file, call }) => ({ file: utf8(file) as Uint8Array, call })),
  fc.record({ file: brokenText.map((text): Uint8Array => utf8(text)), call }),
  fc.record({ file: bytes, call }),
);

for (const { file, call } of fc.sample(cases, { seed: 3, numRuns: Number(count) })) {
  const result = applyEdit(file, call);
  console.log(JSON.stringify(result.ok ? { ...result, bytes: Buffer.from(result.bytes).toString("base64") } : result));
}

const path = join(directory, "file.txt");
for (const { file, call } of fc.sample(cases, { seed: 4, numRuns: Number(count) / 10 })) {
  writeFileSync(path, file);
  utimesSync(path, Math.random() * 1e9, Math.random() * 1e9);
  const context = standaloneContext("Edit", {}, { cwd: directory });
  let answer: unknown;
  try {
    answer = await Edit.run(await Edit.parse({ file_path: "file.txt", ...call }), context);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    answer = { code: error.code, message: error.message };
  }
  console.log(
    JSON.stringify({ answer, now: readFileSync(path).toString("base64") }).replaceAll(directory, "DIRECTORY"),
  );
}
