import { type Change, changesIn, Refused, type Reviewable } from "../../replay/review.ts";
import type { Fixture } from "../../replay/fixture.ts";
import { normaliserOf } from "../../replay/normalise.ts";
import { TapeError } from "../../replay/read-tape.ts";
import type { Call, Sent, Tape } from "../../log/tape.ts";
import { asksModel, leavesOf, mapSent, partsOf, sentDiffers } from "../../replay/requests/api.ts";
import { commandAgent } from "./faults.ts";
import { readable } from "../../replay/requests/readable.ts";
import { realOr } from "../../hooks/file/user-places.ts";
import { commandFor, type CommandReplayOptions, replayIn } from "./run-command.ts";
import { compared } from "../../replay/requests/compare-rules.ts";
import { commandIn, inWorkspace } from "../../replay/working-copy.ts";

/** A command that `crochet record --` recorded, to be reviewed. The caller has seen to it that the fixture is trusted. */
export function commandReview(
  fixture: Fixture,
  tape: Tape,
  options: CommandReplayOptions & { readonly signal: AbortSignal },
): Reviewable {
  const { signal } = options;
  // Tests are at home in their project, and know by the variable that their requests are reviewed.
  const tests = tape.header.tests && commandIn(options.cwd, tape.header.tests);
  const env = tests ? { ...options.env, CROCHET_REVIEWED: realOr(fixture.tape) } : options.env;
  const words = commandFor(tape, options.cwd, tests);
  const within: Reviewable["within"] = (work) =>
    inWorkspace(fixture, tape.header, { ...options, here: tests !== undefined }, work);
  const normalise = normaliserOf(tape.header.normalise);
  const read = (sent: Sent) => {
    const found = compared(sent, true).sent;
    return normalise ? mapSent(found, normalise) : found;
  };
  return {
    within,
    async play(cwd, faults) {
      const agent = commandAgent(words, env, tape.header.input ? undefined : options.cwd);
      const session = await agent.open({ cwd, tape: { tape, faults }, signal, on: () => {} });
      const { stop, error } = await session.prompt("");
      if (signal.aborted) throw new TapeError("Cannot review the run as it was interrupted: review it again");
      // Other tests of the file may fail.
      if (tests && tape.end) return tape.end.end;
      return stop === "done" ? "exit 0" : (error as unknown as { code: string }).code;
    },
    calls: tape.calls.filter(({ sent }) => sent && asksModel(sent)),
    changes: (call, { sent }) => sentChanges(call, read(call.sent!), read(sent!)),
    renewed: (call, { sent }) => ({ ...call, sent: sent!, request: readable(sent!) }),
    replays: ({ end, ...renewed }) =>
      within(async (cwd) => {
        const played = { ...renewed, ...(end && !tests && { end }) };
        return (await replayIn(cwd, words(cwd), played, fixture, { ...options, env, quiet: true })).report.ok;
      }),
  };
}

/** @throws {Refused} if it is another run: what the result of a tool means, only its program knows */
function* sentChanges(call: Call, was: Sent, is: Sent): Generator<Change> {
  const first = sentDiffers(was, is);
  if (!first) return;
  if (first.path === "path") throw new Refused(`${call.id} goes to ${is.path}, not to ${was.path}`);
  const [before, after] = [leavesOf(was.body), leavesOf(is.body)];
  const paths = [...before.keys(), ...after.keys()].filter((path) => before.get(path) !== after.get(path));
  for (const path of [first.path, ...paths.map((path) => path.slice(1))]) {
    const parts = [partsOf(was)(path), partsOf(is)(path)];
    if (parts.includes("result")) throw new Refused(`a tool call came out otherwise in ${call.id}`);
    if (parts.includes("model")) throw new Refused(`${call.id} sends back another reply`);
  }
  const changes = [...changesIn({ ...call, request: readable(was) }, readable(is), undefined)];
  const { path, cause: _, ...sides } = first;
  yield* changes.length > 0 ? changes : [{ label: "request", title: `request: ${path}`, ...sides }];
}
