import type { ReplayFinding } from "../../cli/kit/extension.ts";
import { fixtureAgent, fixtureScript } from "../../cli/kit/known-fixtures.ts";
import { fixtureProject } from "../../replay/fixture.ts";
import { BUILT_IN } from "../../runtime/importing.ts";
import { replayAttack } from "./keep.ts";
import { storyLines, wordOf } from "./story.ts";

/** A finding of an attack is judged by its property alone, in the sandbox of its world. */
const replayFinding: ReplayFinding = async (fixture, io) => {
  const script = fixtureScript(fixture);
  const attacked = await replayAttack(fixture, {
    script: script === BUILT_IN ? undefined : script,
    project: fixtureProject(fixture.folder),
    load: () => fixtureAgent(fixture, io.signal),
    env: io.env,
    signal: io.signal,
  });
  const { never, denials = 0 } = attacked;
  const word = wordOf(attacked);
  if (word !== "held") return { name: fixture.name, word, why: storyLines(attacked).join("\n") };
  const note = `${never} holds, ${denials} ${denials === 1 ? "denial" : "denials"}`;
  return { name: fixture.name, word: "held", notes: [note] };
};

export default replayFinding;
