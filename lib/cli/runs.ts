import { readLoggedRun } from "../log/logged-run.ts";
import { removeLog } from "../log/own.ts";
import type { Listed, TranscriptStore } from "../log/stores/store.ts";
import { command, type Usage } from "./kit/flags.ts";
import { unknownCommand } from "./kit/group.ts";
import { EXIT, UsageError } from "./kit/io.ts";
import type { Reporter } from "./kit/report.ts";
import { expectRun, logMeant, runId } from "./kit/project.ts";
import { projectStore, storedSessions } from "./kit/stored.ts";
import { messageLines } from "./show/message.ts";
import { coloursFor, dollars, plainText, several } from "./show/text.ts";

const ACTIONS = ["ls", "show", "rm"];

const USAGE: Usage = {
  name: "runs",
  words: "[ls | show | rm] [run]",
  about:
    "Lists the runs that were logged here, shows one, or removes it: by its id or the beginning of it, or 'last'. " +
    "'show --json' prints its whole log, with hooks and events.",
  flags: [["--json", "print JSON"]],
  example: "crochet runs",
};

export default command(USAGE, async ({ words }, io) => {
  const [action = "ls", given] = words;
  const { cwd } = io;
  const store = projectStore(cwd, io.env, (warning) => io.err(`crochet: ${warning}\n`), { onSecret: io.learn });
  if (!ACTIONS.includes(action)) throw unknownCommand("runs", action, ACTIONS);
  if (action === "ls") return await list(store, io);
  if (given === undefined) {
    throw new UsageError(`Cannot ${action} a run as none is named: crochet runs ${action} last`);
  }
  // An agent below a run has no log of its own.
  const below = action === "show" && logMeant(given, cwd, io.env) === undefined ? await store.load(given) : undefined;
  const path = below ? undefined : expectRun(given, action, cwd, io.env);
  const id = path === undefined ? given : runId(path);
  if (action === "rm") {
    removeLog(path!);
    return { data: { removed: id }, text: `removed ${id}\n` };
  }
  const found = below ?? await store.load(id);
  const colours = coloursFor(io.tty, io.env);
  const lines = found?.full.flatMap((message) => messageLines(message, colours)) ?? [];
  return {
    data: { id, ...found, ...(path !== undefined && readLoggedRun(path)) },
    text: lines.map((line) => `${line}\n`).join(""),
  };
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
  return { data: all, text: lines.join("") || "no run is logged here\n", code };
}

/** Runs in their order, each followed by those of the agents that it started, and how deep these are. */
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
