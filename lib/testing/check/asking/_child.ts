import type { Answering, Asked, Order, Setup } from "./_child-protocol.ts";
import { eachLine } from "./_lines.ts";
import type { Probed, Question } from "./probe.ts";
import { Survivors } from "./_survivors.ts";
import { Tree } from "./_tree.ts";

/**
 * The process in which one hook is asked. It loads what it needs, is told in the first line which hook that is, and then
 * gets an order a line and gives an answer a line. It can be ended at any moment, so that a hook that never comes back is
 * found and not suffered.
 */
const loading = process.argv[2] === "command" ? import("./_child-command.ts") : import("./_child-record.ts");
const write = process.stdout.write.bind(process.stdout);

// What a module prints is its own affair, and no answer.
let printed = "";
process.stdout.write = ((text: string | Uint8Array) => {
  if (printed.length < 20_000) printed += typeof text === "string" ? text : new TextDecoder().decode(text);
  return true;
}) as typeof process.stdout.write;
for (const name of ["log", "info", "debug", "warn", "error"] as const) {
  console[name] = (...words: unknown[]) => void (printed += `${words.map(String).join(" ")}\n`);
}

/** Loads the hook and says so; undefined where that cannot be done. */
async function begin(setup: Setup): Promise<((order: Order) => Promise<void>) | undefined> {
  const answer = (value: Answering) => void write(`${setup.token}${JSON.stringify(value)}\n`);
  const survivors = new Survivors({ alone: setup.alone, mark: setup.mark });
  try {
    process.chdir(setup.place.project);
    const { loaded, ...asked } = await (await loading).askerFor(setup);
    answer({ id: 0, ...(loaded && { loaded }) });
    return obeying(answer, asked, survivors, new Tree(setup.place.root));
  } catch (error) {
    answer({ id: 0, broken: error instanceof Error ? error.message : String(error) });
    return undefined;
  }
}

function obeying(
  answer: (value: Answering) => void,
  { ask, renew }: Asked,
  survivors: Survivors,
  tree: Tree,
): (order: Order) => Promise<void> {
  /** Some hooks leave something short behind: it is waited for once, and then known. */
  let patience = 2000;
  /** Whether the workspace is no longer what it was when the row began. */
  let dirty = false;

  const asked = async (question: Question, looks: boolean): Promise<Probed> => {
    printed = "";
    const probed = await ask(question);
    const left = looks ? await survivors.take(patience) : [];
    if (left.length > 0) patience = 0;
    return {
      ...probed,
      ...(left.length > 0 && { survivors: left }),
      ...(printed !== "" && { printed }),
    };
  };

  const renewed = async (): Promise<boolean> => {
    try {
      await renew?.();
      return true;
    } catch {
      return false; // it holds something that there is only one of, such as a port
    }
  };

  return async ({ id, question, row, renew: anew }) => {
    if (row?.begins) {
      tree.adopt();
      dirty = false;
    }
    if (row && dirty) return answer({ id, held: true });
    try {
      if (anew && !await renewed()) return answer({ id, onlyOnce: true });
      const probed = await asked(question, row?.looks ?? true);
      if (row?.looks) dirty = tree.changes().length > 0;
      answer({ id, probed, ...(row?.looks && { dirty }) });
    } catch (error) {
      answer({ id, broken: error instanceof Error ? error.message : String(error) });
    }
  };
}

let last: ReturnType<typeof begin> | undefined;
await eachLine(process.stdin, (line) => {
  last = last === undefined ? begin(JSON.parse(line)) : last.then(async (obey) => {
    await obey?.(JSON.parse(line));
    return obey;
  });
});
process.exit(0);
