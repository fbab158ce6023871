import pc from "picocolors";
import { plain } from "../core/_answer.ts";
import { isToolResult, isToolUse, type Message } from "../core/messages.ts";
import { nearest } from "../core/names.ts";
import type { TranscriptStore } from "../transcript/store.ts";
import { command, type Usage } from "./_flags.ts";
import { EXIT, type Io, UsageError } from "./_io.ts";
import { plainText } from "./_show.ts";
import { projectStore } from "./_state.ts";

const USAGE: Usage = {
  name: "transcripts",
  words: "[ls | show <id> | checkpoints <id> | export <id> | rm <id>]",
  about: "Lists stored sessions, shows one, or removes it; 'last' is the id of the newest.",
  flags: [["--cwd <dir>", "the project"], ["--json", "print data"]],
  example: "crochet transcripts ls",
};

export default command(USAGE, async ({ words, flags }, io) => {
  const [action = "ls", given] = words;
  const store = projectStore(String(flags.cwd ?? io.cwd), io.env, (warning) => io.err(`crochet: ${warning}\n`));
  if (action === "ls") return await list(store, flags.json === true, io);
  if (!["show", "checkpoints", "export", "rm"].includes(action)) {
    const meant = nearest(action, ["ls", "show", "checkpoints", "export", "rm"]);
    throw new UsageError(`Cannot do 'transcripts ${action}' as there is no such thing: did you mean '${meant}'?`);
  }
  const id = await idOf(store, given, action);
  const found = await store.load(id);
  if (!found) {
    throw new UsageError(
      `Cannot ${action} '${id}' as there is no transcript of that id: 'crochet transcripts ls' lists them`,
    );
  }
  if (action === "rm") {
    await store.delete(id);
    io.out(`removed ${id}\n`);
  } else if (action === "export" || flags.json) {
    io.out(`${JSON.stringify(action === "checkpoints" ? found.checkpoints : { id, ...found }, null, 2)}\n`);
  } else if (action === "checkpoints") {
    for (const c of found.checkpoints) io.out(`${c.id}  ${c.kind}  ${c.at} messages  ${c.time}\n`);
  } else {
    for (const message of found.full) io.out(`${conversation(message)}\n`);
  }
  return EXIT.ok;
});

async function list(store: TranscriptStore, json: boolean, io: Io): Promise<number> {
  const all = (await store.list()).sort((a, b) => (b.about?.created ?? "").localeCompare(a.about?.created ?? ""));
  const code = all.some(({ problem }) => problem !== undefined) ? EXIT.failed : EXIT.ok;
  if (json) {
    io.out(`${JSON.stringify(all)}\n`);
    return code;
  }
  if (all.length === 0) io.out("no stored sessions here\n");
  for (const { id, about, messages, ending, problem } of all) {
    if (problem !== undefined) {
      io.out(`${pc.bold(id)}  ${pc.red("cannot be read")}\n  ${problem}\n`);
      continue;
    }
    const how = ending === undefined
      ? pc.yellow("unfinished")
      : ending.stop === "done"
      ? pc.green(ending.stop)
      : pc.red(ending.stop);
    const cost = ending === undefined ? "" : ending.cost === null ? "cost unknown" : `$${ending.cost.toFixed(4)}`;
    const prompt = plainText(about?.prompt ?? "").split("\n", 1)[0]!.slice(0, 60);
    io.out(`${pc.bold(id)}  ${how}  ${messages} messages  ${cost}  ${pc.dim(about?.created ?? "")}\n  ${prompt}\n`);
  }
  return code;
}

async function idOf(store: TranscriptStore, given: string | undefined, action: string): Promise<string> {
  if (given === undefined) {
    throw new UsageError(`Cannot ${action} a transcript as none is named: crochet transcripts ${action} last`);
  }
  return given === "last" ? await lastId(store) : given;
}

/** The newest session of a store that no other session started. */
export async function lastId(store: TranscriptStore): Promise<string> {
  const roots = (await store.list()).filter((t) => t.about?.parent === undefined);
  const newest = roots.sort((a, b) => (a.about?.created ?? "").localeCompare(b.about?.created ?? "")).at(-1);
  if (!newest) throw new UsageError("Cannot find the last session as none is stored here: run one first");
  return newest.id;
}

function conversation(message: Message): string {
  return message.content.map((block) => {
    if (isToolUse(block)) return `${pc.cyan("▸")} ${pc.bold(block.name)} ${pc.dim(JSON.stringify(block.input))}`;
    if (isToolResult(block)) {
      return `${block.is_error ? pc.red("✗") : pc.green("✓")} ${pc.dim(plainText(plain(block.content)))}`;
    }
    const words = block.type === "text" ? plainText((block as { text: string }).text) : `[${block.type}]`;
    return message.role === "user" ? `${pc.bold("›")} ${words}` : words;
  }).join("\n");
}
