import { removeLog } from "../log/own.ts";
import type { Listed, TranscriptStore } from "../transcript/store.ts";
import { command, unknownCommand, type Usage } from "./_flags.ts";
import { EXIT, UsageError } from "./_io.ts";
import type { Reporter } from "./_report.ts";
import { projectOf } from "./_project.ts";
import { lastId, projectStore, storedSessions } from "./_stored.ts";
import { messageLines } from "./show/message.ts";
import { coloursFor, dollars, plainText, several } from "./show/text.ts";

const USAGE: Usage = {
  name: "transcripts",
  words: "[ls | show | checkpoints | export | rm] [id]",
  about: "Lists stored sessions, shows one, or removes it; 'last' is the id of the newest.",
  flags: [["--cwd <dir>", "the project"], ["--json", "print JSON"]],
  example: "crochet transcripts ls",
};

export default command(USAGE, async ({ words, flags }, io) => {
  const [action = "ls", given] = words;
  const cwd = projectOf(flags, io);
  const store = projectStore(cwd, io.env, (warning) => io.err(`crochet: ${warning}\n`), { onSecret: io.learn });
  if (action === "ls") return await list(store, io);
  const actions = ["ls", "show", "checkpoints", "export", "rm"];
  if (!actions.includes(action)) throw unknownCommand("transcripts", action, actions);
  const id = idOf(given, action, () => lastId(cwd, io.env));
  const found = await store.load(id);
  if (!found) {
    throw new UsageError(
      `Cannot ${action} '${id}' as there is no transcript of that id: 'crochet transcripts ls' lists them`,
    );
  }
  const { checkpoints, full } = found;
  if (action === "rm") {
    removeLog(store.pathOf!(id));
    return { data: { removed: id }, text: `removed ${id}\n` };
  }
  if (action === "export") {
    io.data({ id, ...found });
    return EXIT.ok;
  }
  const colours = coloursFor(io.tty, io.env);
  const lines = action === "checkpoints"
    ? checkpoints.map((one) => `${one.id}  ${one.kind}  ${several(one.at, "message")}  ${one.time}`)
    : full.flatMap((message) => messageLines(message, colours));
  const data = action === "checkpoints" ? checkpoints : { id, ...found };
  return { data, text: lines.map((line) => `${line}\n`).join("") };
});

async function list(store: TranscriptStore, io: Reporter) {
  // Before they are cut: half a secret would not be taken for one.
  const all = io.hide(await storedSessions(store));
  const { bold, dim, green, red, yellow } = coloursFor(io.tty, io.env);
  const lines = underParents(all).map(([{ id, about, messages, ending, problem }, depth]) => {
    const indent = "  ".repeat(depth);
    if (problem !== undefined) return `${bold(id)}  ${red("cannot be read")}\n  ${problem}\n`;
    const colour = ending === undefined ? yellow : ending.stop === "done" ? green : red;
    const how = colour(ending?.stop ?? "unfinished");
    const cost = ending === undefined ? "" : dollars(ending.cost ?? undefined);
    const prompt = plainText(about?.prompt ?? "").split("\n", 1)[0]!.slice(0, 60);
    const head = `${bold(id)}  ${how}  ${several(messages, "message")}  ${cost}  ${dim(about?.created ?? "")}`;
    return `${indent}${head}\n${indent}  ${prompt}\n`;
  });
  const code = all.some(({ problem }) => problem !== undefined) ? EXIT.failed : EXIT.ok;
  return { data: all, text: lines.join("") || "no stored sessions here\n", code };
}

/** Sessions in their order, each followed by those of the agents that it started, and how deep these are. */
function underParents(all: readonly Listed[]): (readonly [Listed, depth: number])[] {
  const left = new Set(all);
  const taken = (one: Listed, depth: number): (readonly [Listed, number])[] => {
    if (!left.delete(one)) return [];
    return [
      [one, depth],
      ...all.filter(({ about }) => about?.parent === one.id).flatMap((sub) => taken(sub, depth + 1)),
    ];
  };
  const isBelow = ({ about }: Listed) => all.some(({ id }) => id === about?.parent);
  // Those that name each other as parents are below none.
  return [...all.filter((one) => !isBelow(one)), ...all].flatMap((one) => taken(one, 0));
}

function idOf(given: string | undefined, action: string, last: () => string): string {
  if (given === undefined) {
    throw new UsageError(`Cannot ${action} a transcript as none is named: crochet transcripts ${action} last`);
  }
  return given === "last" ? last() : given;
}
