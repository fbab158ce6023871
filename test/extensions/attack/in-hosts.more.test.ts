import assert from "node:assert/strict";
import { test } from "node:test";
import attack from "../../../lib/extensions/attack/command.ts";
import type { Finding } from "../../../lib/extensions/attack/attack-worker.ts";
import { breakBy, type HostCell, hostStory, sessionsFor } from "../../../lib/extensions/attack/in-hosts.ts";
import { noSandbox } from "../../_needs.ts";
import { type Fault, withHost } from "../lab/_fake-host.ts";
import { DENY_ALL, FILES } from "./_guarded.ts";

const LEAKY =
  `export default ({ input }) => /notes/.test(input.command ?? input.file_path) ? { action: "deny", reason: "NOT-NOTES" } : undefined;`;

const DENY_BUT_AGENTS =
  `export default ({ tool_name }) => tool_name === "Agent" ? undefined : { action: "deny", reason: "No" };`;

/** Two that refuse the same calls: a host shows the words of one of them. */
const TWO = `export default ({ input }) => input.command ? { action: "deny", reason: "NO-SHELL" } : undefined;`;

/** Each row is a guard in a host, the words of its verdict, and what is said of the host. */
const ROWS: readonly (readonly [guard: string, fault: Fault, code: number, says: RegExp])[] = [
  [
    DENY_BUT_AGENTS,
    "starts sub-agents, too",
    0,
    /^✓ changes:notes\.txt in claude 1\.0\.0 {2}none of 8 refused forms breaks it there, through Write, sub-agent, Edit, Bash\n {2}1 refused +Write +refused\n {2}8 refused +sub-agent +refused\n(?:.*\n)*? {2}not covered: no hook of claude sees a skill/m,
  ],
  [
    DENY_ALL,
    "asks hooks about its shell alone",
    1,
    /^✗ changes:notes\.txt in claude 1\.0\.0 {2}broken\n(?: .*\n)*? {2}\d refused +Write +BROKEN$/m,
  ],
  [
    DENY_ALL,
    "none",
    3,
    /^– changes:notes\.txt in claude 1\.0\.0 {2}not measured\n(?: .*\n)*? {2}8 refused +sub-agent +not measured$/m,
  ],
  [DENY_ALL, "runs no calls", 3, /refused +Bash +refused/],
  [DENY_ALL, "ends before it asks", 3, /^– changes:notes\.txt in claude 1\.0\.0 {2}not measured$/m],
  [LEAKY, "none", 1, /^✗ changes:notes\.txt in claude 1\.0\.0 {2}broken\n {2}finding 1 +Bash +BROKEN$/m],
  [LEAKY, "runs no calls", 1, /^ {2}finding 1 +Bash +host refuses$/m],
];

const bash = (command: string) => ({ tool: "Bash", input: { command }, words: "NO" });
const write = { tool: "Write", input: { file_path: "/p/a.sh", content: "x" }, words: "NO" };
const finding = (...calls: { tool: string; input: object }[]) => ({ calls }) as unknown as Finding;

test("what was found and refused is played through every channel, those that no hook sees too, in 30 sessions at most", () => {
  const played = (findings: Finding[], refused: ReturnType<typeof bash>[] = []) =>
    sessionsFor({ host: "codex" }, { findings, refused }, "/p").held.map((
      { calls, of, play: { channel, more = [] } },
    ) => `${calls} by ${channel}: ${of}, ${1 + more.length} made`);
  assert.deepEqual(played([finding(bash("rm a"))], [bash("rm b"), bash("rm c")]), [
    ...["finding 1 by Bash: 1, 1 made", "finding 1 by sub-agent: 1, 1 made", "finding 1 by write_stdin: 1, 2 made"],
    ...["2 refused by Bash: 2, 2 made", "2 refused by sub-agent: 2, 2 made", "2 refused by write_stdin: 2, 4 made"],
  ]);
  assert.deepEqual(played([finding(write, bash("sh a.sh")), finding(bash("sh a.sh"), write)]), [
    ...["finding 1 by apply_patch + Bash: 2, 2 made", "finding 1 by Bash: 2, 2 made"],
    ...["finding 1 by sub-agent: 2, 2 made", "finding 2 by Bash: 2, 2 made", "finding 2 by sub-agent: 2, 2 made"],
    "finding 2 by write_stdin + apply_patch: 2, 3 made",
  ]);
  const { held, left } = sessionsFor({ host: "codex" }, { findings: Array(11).fill(finding(bash("rm a"))) }, "/p");
  assert.deepEqual([held.length, left], [30, 3]);
});

/** States by channels, how many sessions were left, and what is said of the host. */
const STORIES: readonly (readonly [cells: Record<string, string>, left: number, word: string, says: RegExp])[] = [
  [{ Bash: "refused", "sub-agent": "host refuses" }, 0, "held", /none of 0 refused forms .* through Bash, sub-agent\n/],
  [{ Bash: "refused", write_stdin: "open" }, 0, "broken", /^✗ .* {2}open: write_stdin\n(?!.*not covered)/],
  [{ "write_stdin + apply_patch": "open", Bash: "BROKEN" }, 0, "broken", /^✗ .* {2}open: write_stdin, broken\n/],
  [{ Bash: "refused", "sub-agent": "not measured" }, 0, "not measured", /^– .* {2}not measured\n/],
  [{ Bash: "BROKEN", "sub-agent": "not measured" }, 2, "broken", /^✗ .* {2}broken\n[^]* {2}2 sessions .* not held\n/],
  [
    { Bash: "refused" },
    1,
    "not measured",
    /1 sessions of the host beyond 30 were not held\n {2}not covered: .*write_stdin/,
  ],
  [{}, 0, "not measured", /^– .* {2}not measured\n/],
];

for (const [states, left, word, says] of STORIES) {
  const shown = Object.entries(states).map(([channel, state]) => `${channel} ${state}`).join(", ");
  test(`a host is ${word} with the cells '${shown}' and ${left} sessions left`, () => {
    const cells = Object.entries(states).map(([channel, state]) =>
      ({ calls: "finding 1", channel, state }) as HostCell
    );
    const story = hostStory({ never: "changes:x" }, { host: { host: "codex", version: "1" } }, cells, left);
    assert.equal(story.word, word);
    assert.match(`${story.lines.join("\n")}\n`, says);
  });
}

test("what breaks a property is open by a channel that no hook of the host sees, and else broken", () => {
  assert.deepEqual(["write_stdin", "Bash + write_stdin", "Bash"].map((one) => breakBy("codex", one)), [
    ...["open", "open", "BROKEN"],
  ]);
  assert.equal(breakBy("claude", "write_stdin"), "BROKEN");
});

for (const [guard, fault, code, says] of ROWS) {
  const name = guard === LEAKY ? "a guard with a hole" : "a guard that refuses all";
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
