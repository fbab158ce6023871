import { existsSync } from "node:fs";
import type { Answering, Order, Setup } from "./_child-protocol.ts";
import { eachLine } from "./_lines.ts";
import type { Place, Probed, Question } from "./probe.ts";
import { Survivors } from "./_survivors.ts";
import { Tree } from "./_tree.ts";

/**
 * The process in which one hook is asked: an order a line in, an answer a line out. It can be ended at any moment, so
 * that a hook that never comes back is found and not suffered.
 */
const setup: Setup = JSON.parse(process.argv[2]!);
const write = process.stdout.write.bind(process.stdout);
const answer = (value: Answering) => write(`${setup.token}${JSON.stringify(value)}\n`);

// What a module prints is its own affair, and no answer.
let printed = "";
process.stdout.write = ((text: string | Uint8Array) => {
  if (printed.length < 20_000) printed += typeof text === "string" ? text : new TextDecoder().decode(text);
  return true;
}) as typeof process.stdout.write;
for (const name of ["log", "info", "debug", "warn", "error"] as const) {
  console[name] = (...words: unknown[]) => void (printed += `${words.map(String).join(" ")}\n`);
}

const survivors = new Survivors({ alone: setup.alone, mark: setup.mark });
/** Some hooks leave something short behind: it is waited for once, and then known. */
let patience = 2000;

async function ask(run: (question: Question) => Promise<Probed>, question: Question): Promise<Probed> {
  printed = "";
  const probed = await run(question);
  const left = await survivors.take(patience);
  if (left.length > 0) patience = 0;
  return {
    ...probed,
    ...(left.length > 0 && { survivors: left }),
    ...(printed !== "" && { printed }),
  };
}

/** What the workspace was like at the first question of a row. */
const tree = new Tree(setup.place.root);
let dirty = false;

async function obey({ id, question, row }: Order, run: (question: Question) => Promise<Probed>): Promise<void> {
  if (row === "first") {
    tree.adopt();
    dirty = false;
  }
  if (row === "next" && dirty) return void answer({ id, held: true });
  try {
    const probed = await ask(run, question);
    if (row !== undefined) dirty = tree.changes().length > 0;
    answer({ id, probed, ...(row !== undefined && { dirty }) });
  } catch (error) {
    answer({ id, broken: error instanceof Error ? error.message : String(error) });
  }
}

function enter({ project }: Place): void {
  if (existsSync(project)) process.chdir(project);
}

async function main(): Promise<void> {
  enter(setup.place);
  let run: (question: Question) => Promise<Probed>;
  try {
    if (setup.target.type === "command") {
      run = (await import("./_child-command.ts")).commandAsker(setup, setup.target);
      answer({ id: 0 });
    } else {
      const { asker, loaded } = await (await import("./_child-record.ts")).recordAsker(setup);
      run = asker;
      answer({ id: 0, loaded });
    }
  } catch (error) {
    return void answer({ id: 0, broken: error instanceof Error ? error.message : String(error) });
  }
  let last = Promise.resolve();
  await eachLine(process.stdin, (line) => {
    last = last.then(() => obey(JSON.parse(line) as Order, run));
  });
  process.exit(0);
}

await main();
