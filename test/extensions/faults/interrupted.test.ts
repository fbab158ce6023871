import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import replay from "../../../lib/cli/replay.ts";
import { rows } from "../../_counts.ts";
import { withEnv } from "../../_env.ts";
import { WRITER, written } from "../../cli/_writer.ts";

/** Calls replay, and interrupts it once a file has so many characters. */
async function interruptedAt(w: Awaited<ReturnType<typeof written>>, file: string, length: number, ...args: string[]) {
  const stop = new AbortController();
  let out = "";
  const io = { out: (text: string) => void (out += text), err: () => {}, tty: false, env: w.env, cwd: w.cwd };
  const timer = setInterval(() => {
    if (existsSync(file) && readFileSync(file, "utf8").length >= length) stop.abort();
  }, 5);
  try {
    return { code: await replay(args, { ...io, signal: stop.signal }), out };
  } finally {
    clearInterval(timer);
  }
}

/** Its tool never comes to its end from the HANGS_AT-th time on, over all processes. */
const hanging = (begun: string) =>
  WRITER.replace("tools: [Write]", "tools: [{ ...Write, run }]") + `
import { appendFileSync, readFileSync } from "node:fs";
function run(input, context) {
  appendFileSync(${JSON.stringify(begun)}, ".");
  if (readFileSync(${
    JSON.stringify(begun)
  }, "utf8").length < Number(process.env.HANGS_AT)) return Write.run(input, context);
  return new Promise((_, reject) => context.signal.addEventListener("abort", () => reject(context.signal.reason)));
}
`;
const brokenTwice = (begun: string) =>
  `import { readFileSync } from "node:fs";
export default [{
  name: "never twice",
  broken: () => readFileSync(${JSON.stringify(begun)}, "utf8").length > 1 ? "it was" : undefined,
}];\n`;
const KEPT = JSON.stringify([{ broke: "it broke", faults: ["call 1: error:overloaded_error"] }]);

for (
  const [what, hangsAt, args, files, said, reported = /errors="1"/] of rows(
    3,
    [
      [
        "a search, which says how far it came",
        2,
        ["--faults", "50"],
        {},
        /^fixture +schedules +result +single faults\nwrite +\d+ +not measured +\d+ of 38\n/,
        /<error type="not measured" message="\d+ of 50 schedules were tried"/,
      ],
      ["a preset", 1, ["--faults", "overloaded"], {}, /^not measured: 1 fixture\n$/m],
      [
        "faults that were kept",
        2,
        [],
        { "write.fault.json": () => KEPT },
        /^not measured: 1 fixture\n$/m,
      ],
      [
        "a search for less",
        3,
        ["--faults", "9"],
        { "invariants.ts": brokenTwice },
        /write +\d+ +broken.*\n\n✗ write: never twice: /,
        /failures="1"/,
      ],
    ] as const,
  )
) {
  test(`what runs under faults ends when a person ends it, with the tool that is on: ${what}`, async () => {
    using w = await written();
    const begun = `${w.cwd}/begun.txt`;
    for (const [name, text] of Object.entries(files)) w.put({ [`fixtures/write/${name}`]: text(begun) });
    w.put({ "fixtures/write/agent.ts": hanging(begun) });
    const { code, out } = await withEnv(
      { HANGS_AT: String(hangsAt) },
      () => interruptedAt(w, begun, hangsAt, ...args, "write", "--junit", "ended.xml"),
    );
    assert.equal(code, 130, out);
    assert.match(out, said);
    assert.match(readFileSync(`${w.cwd}/ended.xml`, "utf8"), reported);
  });
}
