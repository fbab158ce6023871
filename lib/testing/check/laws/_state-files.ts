import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import type { Place } from "../asking/probe.ts";
import { pathsIn, samplesOf, textAround } from "./_state-paths.ts";
import type { Subject } from "../subject.ts";
import type { State } from "./starts.ts";

interface StatesOptions {
  readonly place: Place;
  /** The person's own project: what a hook looks for may be there. */
  readonly cwd: string;
  /** The id of the session it is played in. */
  readonly session: string;
  readonly event: string;
}

/**
 * Many a loop is begun by a file: with it there the hook blocks, without it never. Gives the files a hook looks for, as
 * the person has them, as a plugin shows them, and else made up of the words the hook reads in them: once without a
 * limit, once with one.
 */
export function statesFor(subject: Subject, { place, cwd, session, event }: StatesOptions): State[] {
  const [root] = subject.visible;
  const folder = subject.file === undefined ? root : dirname(subject.file);
  const text = folder === undefined ? subject.text : textAround(subject.text, folder);
  const write = (path: string, content: string) => {
    const full = join(place.root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
  };
  return pathsIn(text, session).flatMap((path): State[] => {
    const samples = samplesOf(path, { project: cwd, plugin: root ?? cwd }).slice(0, 3);
    if (samples.length > 0) {
      return samples.map(({ from, to }) => ({
        about: from,
        arrange: () => write(to, switchedOn(readFileSync(from, "utf8"))),
      }));
    }
    const shown = path.replace(/^project\//, "").replace(/^home\//, "~/").replace(/^outside\//, "/tmp/");
    const keys = keysIn(text);
    const limited = keys.some((key) => LIMIT.test(key)) && /\.(?:json|md|ya?ml)$/.test(path);
    return (limited ? [0, 5] : [0]).map((limit) => {
      const content = made(path, keys, { limit, session, event, text, shown });
      const set = limited ? ` (${keys.find((key) => LIMIT.test(key))}: ${limit})` : "";
      return { about: `a file ${shown}${set}`, arrange: () => write(path, content) };
    });
  });
}

/** Examples are often switched off until somebody takes them. */
function switchedOn(text: string): string {
  return text.replaceAll(/^(\s*"?(?:enabled|active)"?\s*:\s*)false/gm, "$1true");
}

/** The keys a script reads, in whatever way it says so. */
function keysIn(text: string): string[] {
  const found = new Set<string>();
  const all = [
    ...text.matchAll(/\^\s*([a-z]\w{2,30}):/gi),
    ...text.matchAll(/["'`/]([a-z]\w{2,30}):[ \\*"'`]/gi),
    ...text.matchAll(/(?:get\(|\[)\s*["']([a-z]\w{1,30})["']/gi),
    ...text.matchAll(/\$\(\w*(?:key|field|get|read|parse|value)\w* ["']?([a-z]\w{1,30})["')]/gi),
    ...text.matchAll(/(?<=[\w)'"?\s|])\.([a-z]\w{1,30})\b(?!\s*\()/gi),
  ];
  for (const [, key] of all) if (key !== "stop_hook_active") found.add(key!);
  return [...found].slice(0, 200);
}

const LIMIT = /max|limit/i;

/** What a key probably means, and a value for a loop that is on. The first that fits counts. */
function valueOf(key: string, { limit, session, event, text, shown }: Making): unknown {
  const status = ["in_progress", "running", "active", "pending"].find((word) =>
    new RegExp(`["'\`]${word}["'\`]`).test(text)
  );
  const kinds: readonly (readonly [RegExp, unknown])[] = [
    [LIMIT, limit],
    [/session/i, session],
    [/(?:^|_)at$|[a-z]At$|time|date|stamp|started|updated/i, new Date().toISOString()],
    [/iteration|count|attempt|round|retries|turn|step|index/i, 1],
    [/complet\w*_promise|promise/i, limit === 0 ? null : "DONE"],
    [/^(?:is_?)?(?:active|enabled|running|loop|in_?progress)$/i, true],
    [
      /^(?:is_?)?(?:done|complete|completed|finished|stopped|cancelled|canceled|paused|passed|passes|approved|verified)$/i,
      false,
    ],
    [/^(?:prompt|task|goal|instructions?|description|objective|message|reason)$/i, "Go on with the task."],
    [/^(?:status|state|phase)$/i, status],
    [/^event$/i, event],
    [/^(?:action|decision)$/i, "block"],
    [/^(?:name|id|title)$/i, "check"],
    [/^(?:todos|tasks|items|stories|user_?stories)$/i, [{
      id: 1,
      content: "Write the tests",
      status: status ?? "pending",
      passes: false,
    }]],
  ];
  return kinds.find(([kind]) => kind.test(key))?.[1] ?? needed(key, text) ??
    (/_(?:file|path)$/.test(key) ? shown : undefined);
}

/** What a key must be for the script to go on: `[ "$MODE" != "work" ] && exit 0`. */
function needed(key: string, text: string): string | undefined {
  return new RegExp(`\\b${key}\\b["'})\\]]*\\s*!==?\\s*["']([\\w-]+)["']`, "i").exec(text)?.[1];
}

interface Making {
  readonly limit: number;
  readonly session: string;
  readonly event: string;
  readonly text: string;
  /** The file itself, from the project: what it names may be in it. */
  readonly shown: string;
}

function made(path: string, keys: readonly string[], making: Making): string {
  const known = keys.map((key) => [key, valueOf(key, making)] as const).filter(([, value]) => value !== undefined);
  const lines = known.map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`).join("");
  switch (extname(path)) {
    case ".json":
      return `${JSON.stringify(Object.fromEntries(known), null, 2)}\n`;
    case ".md":
      return `---\n${lines}---\n\nGo on with the task.\n\n- [ ] Write the tests\n`;
    case ".yaml":
    case ".yml":
      return lines;
    default:
      return "1\n";
  }
}
