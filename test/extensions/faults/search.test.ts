import assert from "node:assert/strict";
import { dirname } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { agent } from "../../../lib/agent/agent.ts";
import { readFaultFile } from "../../../lib/extensions/faults/kept-faults.ts";
import { type Fault, FAULTS, faultText, readFault } from "../../../lib/extensions/faults/fault.ts";
import { faultFile } from "../../../lib/replay/fixture.ts";
import type { Observed } from "../../../lib/replay/invariants.ts";
import { type Faultable, underFaults } from "../../../lib/extensions/faults/under-faults.ts";
import { faults } from "../../../lib/extensions/faults/schedules.ts";
import { search, searchFaults } from "../../../lib/extensions/faults/search-faults.ts";
import { Read, Write } from "../../../lib/tools/index.ts";
import { rounds } from "../../_counts.ts";
import { type Mistake, naive } from "./_naive-agents.ts";
import { taped } from "../../replay/_taped.ts";
import { writer, writtenRun } from "../../replay/_written-run.ts";

const made = await writtenRun();
after(() => made.remove());

const MISTAKES: { readonly [mistake in Exclude<Mistake, "none" | "leaves calls open">]: RegExp } = {
  "ignores the index": /^a cut turn never enters history: .* is not what any whole reply says/,
  "retries after effects": /^a retry never repeats a write: \w+ \(toolu_\w+\) ran 2 times/,
  "runs malformed input":
    /^no tool runs on input that does not strictly parse: \w+ \(toolu_\w+\) ran on ('|what the output limit cut)/,
  "keeps cut turns": /^a cut turn never enters history: /,
  "runs tools while they stream":
    /^(no tool runs on input that does not strictly parse: .* no whole reply asks for it|a retry never repeats a write)/,
  "never gives up": /^the run ends: the model was asked \d+ times/,
};

for (const [mistake, broke] of Object.entries(MISTAKES)) {
  test(`a search always finds a loop that ${mistake}, makes it small and keeps it beside the tape`, async () => {
    // By its folder or its own file, a tape is the same.
    const path = mistake === "never gives up" ? dirname(made.path) : made.path;
    const search = { runs: 100, seed: 7, path, files: made.files };
    const { found, file } = await searchFaults(naive(mistake as Mistake), made.tape, search);
    assert.match(found?.broke ?? "nothing was found", broke);
    assert.ok(found!.faults.length <= 2, faultText(found!.faults[0]!));
    assert.equal(file, faultFile(made.path));
    const kept = readFaultFile(file);
    assert.deepEqual(kept.at(-1), found);
    const again = await underFaults(naive(mistake as Mistake), made.tape, kept.at(-1)!.faults, { files: made.files });
    assert.equal(`${again.broken[0]?.invariant}: ${again.broken[0]?.seen}`, found!.broke);
    const ours = await underFaults(writer, made.tape, found!.faults, { files: made.files });
    assert.deepEqual(ours.broken, []);
  });
}

test("what breaks where nothing goes wrong is always reported as that, and never kept as a fault", async () => {
  const { found, runs, file } = await searchFaults(naive("leaves calls open"), made.tape, { path: made.path });
  assert.match(found!.broke, /^every tool_use has one result: (request|the transcript)/);
  assert.deepEqual([found!.faults, runs, file], [[], 0, undefined]);
});

test("every single fault is always tried before two at once, in an order that the seed decides", async () => {
  const { used } = await underFaults(writer, made.tape, [], { files: made.files });
  const searched = async (runs: number, seed: number) => {
    const tried: string[] = [];
    const survive = (faults: readonly Fault[]) => {
      tried.push(faults.map(faultText).join(" and "));
      return Promise.resolve({ broken: [], used });
    };
    const result = await search(survive, made.tape, { runs, seed });
    assert.equal(tried.shift(), "", "a run without faults comes first");
    return { ...result, tried };
  };
  const { singles = 0, tried: first } = await searched(130, 1);
  assert.ok(singles > 60 && singles < 130, String(singles));
  assert.equal(first.length, 130);
  assert.equal(new Set(first.slice(0, singles)).size, singles);
  assert.ok(first.slice(0, singles).every((text) => !text.includes(" and ")));
  assert.ok(first.slice(singles).every((text) => text.includes(" and ")));
  for (const [kind, { places }] of Object.entries(FAULTS)) {
    if (places.some((on) => on === "hook" || on === "mcp")) continue;
    assert.ok(
      first.slice(0, singles).some((text) => readFault(text).what.startsWith(kind)),
      `lib/extensions/faults/schedules.ts never tries ${kind}`,
    );
  }
  const inCall = (block?: string) =>
    first.slice(0, singles).map(readFault)
      .filter((fault) => fault.on === undefined && fault.call === 2 && fault.block === block)
      .map(({ what, delta }) => delta === undefined ? `${what} at once` : what).sort();
  const inEach = ["cut", "json drop", "json truncate", "json truncate at once", "stop:max_tokens"];
  const inLast = ["dup-start", "error:overloaded_error", "gap", "stall", "stop:refusal", "unknown-block"];
  assert.deepEqual(inCall(), ["http:400 at once", "http:529 at once", "http:529 at once", "reset at once"]);
  assert.deepEqual(inCall("tool_use:Edit"), inEach);
  assert.deepEqual(inCall("tool_use:Write"), [...inEach, ...inLast].sort());
  assert.deepEqual(inCall("end"), ["cut at once"]);
  const other = await searched(20, 2);
  assert.notDeepEqual(other.tried, first.slice(0, 20));
  assert.deepEqual((await searched(20, 2)).tried, other.tried);
  assert.ok(other.tried.every((text) => first.slice(0, singles).includes(text)));
});

test("an agent that a function makes is made anew for every schedule, and after every kill", async () => {
  let count = 0;
  const anew = () => (count++, writer);
  await underFaults(anew, made.tape, [], { files: made.files });
  assert.equal(count, 1);
  const twice = ["kill after message 2", "kill after message 4"].map(readFault);
  const { broken, result } = await underFaults(anew, made.tape, twice, { files: made.files });
  assert.deepEqual([broken, result?.text, count], [[], "It is written.", 4]);
});

test("a counter-example is always made as small as it can be: no fault too many, the first call, the simplest place", () => {
  const has = (faults: readonly Fault[], what: RegExp) => faults.some((fault) => what.test(faultText(fault)));
  const smallest: [fails: (faults: readonly Fault[]) => boolean, schedule: string][] = [
    [(faults) => has(faults, /: stop:/), "call 1, thinking: stop:max_tokens"],
    [(faults) => has(faults, /json/), "call 1, tool_use:Write: json truncate"],
    [(faults) => has(faults, /text, delta 1: /), "call 1, text, delta 1: cut"],
    [(faults) => has(faults, /(x3|good)$/), "call 1: cut x3"],
    [(faults) => has(faults, /^call 2/), "call 2: cut"],
    [(faults) => has(faults, /^call 1,.*gap/) && has(faults, /^call 3/), "call 1, thinking: gap and call 3: cut"],
  ];
  for (const [fails, schedule] of smallest) {
    for (let seed = 1; seed <= 5; seed++) {
      const { counterexample } = fc.check(fc.property(faults(made.tape), (given) => !fails(given)), {
        seed,
        numRuns: 2000,
      });
      assert.equal(counterexample?.[0].map(faultText).sort().join(" and "), schedule);
    }
  }
});

test("a wrong tape, agent or option is refused before the run", async () => {
  const tapes = [["fixtures/x", `"fixtures/x"`], [Promise.resolve(made.tape), "a promise"], [undefined, "undefined"]];
  for (const [given, words] of tapes) {
    const isNone = new RegExp(`as ${words} is not a tape: await readTape\\("fixtures/<name>"\\)$`);
    assert.throws(() => faults(given as never), isNone);
    await assert.rejects(underFaults(writer, given as never, []), isNone);
    await assert.rejects(searchFaults(writer, given as never), isNone);
  }
  await assert.rejects(underFaults({} as Faultable, made.tape, []), /as \{\} is not an agent: pass what agent\(/);
  await assert.rejects(underFaults(writer, made.tape, [], { file: "x" } as object), /did you mean 'files'\?$/);
  await assert.rejects(searchFaults(writer, made.tape, { run: 5 } as object), /did you mean 'runs'\?$/);
});

test("an invariant that returns neither a string nor undefined is an error of the invariant", async () => {
  const answers = [[false, "false"], [null, "null"], [Promise.resolve(undefined), "a promise"]] as const;
  for (const [answer, words] of answers) {
    const invariants = [{ name: "mine", broken: () => answer as never }];
    await assert.rejects(
      underFaults(writer, made.tape, [], { invariants }),
      new RegExp(
        `by invariant 'mine' as 'broken' returned ${words}: return a string if it is broken, otherwise undefined$`,
      ),
    );
  }
});

test("the workspace of a run under faults is never named in its result or in what is kept", async () => {
  const invariants = [{ name: "mine", broken: ({ results }: Observed) => JSON.stringify(results[0]?.messages) }];
  const runs = [1, 2].map(() => underFaults(writer, made.tape, [], { files: made.files, invariants }));
  const [first, second] = (await Promise.all(runs)).map(({ broken, result }) => ({
    broken,
    messages: result?.messages,
  }));
  assert.match(first!.broken[0]!.seen, /\{ROOT\}\/a\.txt/);
  assert.deepEqual(first, second);
});

test("a run that is begun again is accused of what it writes twice, and never of what it reads twice", async () => {
  const begunAgain = (subject: typeof writer): Faultable => ({
    async open(given) {
      let session = await subject.open(given);
      return {
        async prompt(text) {
          const result = await session.prompt(text);
          if (result.stop !== "error") return result;
          await session.close();
          session = await subject.open(given);
          return await session.prompt(text);
        },
        close: () => session.close(),
      };
    },
  });
  for (
    const [tool, input, broke] of [
      [Write, { file_path: "a.txt", content: "a" }, "Write (toolu_scripted_0001) ran 2 times"],
      [Read, { file_path: "a.txt" }, undefined],
    ] as const
  ) {
    const options = { system: "You work.", tools: [tool] };
    const run = await taped({ options, replies: [{ tools: [{ name: tool.name, input }] }, { text: "It is over." }] });
    const { broken } = await underFaults(begunAgain(agent(options)), run.tape, [readFault("call 2: cut x3")]);
    run.remove();
    assert.equal(broken[0]?.seen, broke);
  }
});

test("a search never accuses a loop without a mistake", async () => {
  assert.equal((await searchFaults(naive("none"), made.tape, { runs: rounds(60, 1000) })).found, undefined);
});
