import assert from "node:assert/strict";
import { test } from "node:test";
import attack from "../../../lib/extensions/attack/command.ts";
import { noSandbox } from "../../_needs.ts";
import { type Fault, withHost } from "../lab/_fake-host.ts";
import { DENY_ALL, FILES } from "./_guarded.ts";

const LEAKY =
  `export default ({ input }) => /notes/.test(input.command ?? input.file_path) ? { action: "deny", reason: "NOT-NOTES" } : undefined;`;

/** Two that refuse the same calls: a host shows the words of one of them. */
const TWO = `export default ({ input }) => input.command ? { action: "deny", reason: "NO-SHELL" } : undefined;`;

/** Each row is a guard in a host, the words of its verdict, and what is said of the host. */
const ROWS: readonly (readonly [guard: string, fault: Fault, code: number, says: RegExp])[] = [
  [
    DENY_ALL,
    "none",
    0,
    /^✓ changes:notes\.txt in claude 1\.0\.0 {2}none of 8 refused forms breaks it there, through Write, Bash\n {2}1 refused +Write +refused\n {2}8 refused +sub-agent +not measured\n(?:.*\n)*? {2}not covered: no hook of claude sees a skill/m,
  ],
  [
    DENY_ALL,
    "asks hooks about its shell alone",
    1,
    /^✗ changes:notes\.txt in claude 1\.0\.0 {2}broken\n(?: .*\n)*? {2}\d refused +Write +BROKEN$/m,
  ],
  [DENY_ALL, "runs no calls", 0, /refused +Bash +refused/],
  [DENY_ALL, "ends before it asks", 3, /^– changes:notes\.txt in claude 1\.0\.0 {2}not measured$/m],
  [LEAKY, "none", 1, /^✗ changes:notes\.txt in claude 1\.0\.0 {2}broken\n {2}finding 1 +Bash +BROKEN$/m],
  [LEAKY, "runs no calls", 1, /^ {2}finding 1 +Bash +host refuses$/m],
];

for (const [guard, fault, code, says] of ROWS) {
  const name = guard === DENY_ALL ? "a guard that refuses all" : "a guard with a hole";
  test(`${name}, in a host with the fault '${fault}', ends with exit code ${code}`, { skip: noSandbox }, async () => {
    using here = withHost(fault, { ...FILES, "hooks/pre-tool-use.guard.ts": guard });
    const args = ["hooks", "--never", "changes:notes.txt", "--seed", "7", "--runs", "60", "--in", "claude"];
    const { out, err, code: ended } = await here.call(attack, ...args);
    assert.match(out, says, err);
    assert.equal(ended, code, out);
  });
}

test(
  "a call that two hooks refuse is refused by a hook, whichever words the host shows",
  { skip: noSandbox },
  async () => {
    const hooks = { "hooks/pre-tool-use.guard.ts": DENY_ALL, "hooks/01-pre-tool-use@Bash.shell.ts": TWO };
    using here = withHost("shows the last refusal", { ...FILES, ...hooks });
    const args = ["hooks", "--never", "changes:notes.txt", "--seed", "7", "--runs", "60", "--in", "claude"];
    const { out, err } = await here.call(attack, ...args);
    assert.match(out, /^ {2}\d refused +Write +refused\n(?:.*\n)*? {2}\d refused +Bash +refused$/m, err);
  },
);
