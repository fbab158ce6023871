import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Assembly } from "./_assembly.ts";
import { blobsOf, fromBlobs, readBlob } from "./_blobs.ts";
import { type Fact, type Header, TAPE_VERSION, unknownFact } from "../log/entry.ts";
import { type Redactor, redactor } from "../log/redact/redact.ts";
import { isSuspect, scanFacts, whatIs } from "../log/redact/scan.ts";
import type { Tape } from "../log/tape.ts";
import type { Fixture } from "./fixture.ts";

/** A tape that cannot be used, with the reason. */
export class TapeError extends Error {
  override name = "TapeError";
}

/** A tape that can be read, but shows a secret. */
export class SecretOnTape extends TapeError {}

/** What to do about a tape that is not as it was written. */
const RENEW = "take it from version control, or delete it and record again";

/** A tape comes from anywhere: one that is small and unpacks to more than this was made to fill the memory. */
const MOST_CHARACTERS = 512 * 1024 * 1024;

interface ReadOptions {
  /** Searches for secrets in what is read. @default one of this process's environment */
  readonly redactor?: Redactor;
  /**
   * Other folders of long texts, for a tape that is only looked at, away from its own, as git has an earlier one shown: a
   * text that is in none of them is named in its place. @default it is an error
   */
  readonly elsewhere?: () => readonly string[];
}

/**
 * Reads a tape, given its file or its fixture's folder.
 *
 * @throws {TapeError} if it does not exist, has an unknown line or a key that does not fit its call, or shows a secret
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { readTape, scripted } from "crochet/testing";
 *
 * const greeter = agent({ model: scripted([{ text: "hello" }]) });
 * await greeter.run("hi", { tape: { path: `${process.cwd()}/fixtures/hi`, mode: "record" } });
 * const tape = await readTape("fixtures/hi"); // for faults(tape), underFaults(agent, tape, ...)
 * console.log(tape.prompts, tape.calls.length); // [ "hi" ] 1
 * ```
 */
export async function readTape(named: string, options: ReadOptions = {}): Promise<Tape> {
  const within = join(named, "tape.jsonl");
  const path = existsSync(within) ? within : named;
  const text = textOf(path);
  const folder = blobsOf(path);
  try {
    return await parseTape(text, path, options, (name) => blobIn(folder, name, options));
  } catch (error) {
    throw error instanceof UnknownLine ? await blamed(error, text) : error;
  }
}

function blobIn(own: string, name: string, { elsewhere }: ReadOptions): string | undefined {
  if (!elsewhere || existsSync(join(own, name))) return readBlob(own, name);
  const other = elsewhere().find((folder) => existsSync(join(folder, name)));
  return other === undefined ? undefined : readBlob(other, name);
}

/** A line that this release does not know; the one that wrote it may. */
class UnknownLine extends TapeError {}

async function blamed(error: UnknownLine, text: string): Promise<TapeError> {
  const { crochetVersion } = await import("../runtime/version.ts");
  const [, theirs = ""] = /"crochet":"([^"]*)"/.exec(text.split("\n", 1)[0]!) ?? [];
  const ours = crochetVersion();
  if (theirs.localeCompare(ours, "en", { numeric: true }) <= 0) return error;
  return new TapeError(
    error.message.replace(RENEW, () => `it was recorded with crochet ${theirs}, and this is ${ours}: update crochet`),
  );
}

/** The lines of a tape that has been read whole, with the texts in their places that lie beside it. */
export function readLines(path: string): (Header | Fact)[] {
  const folder = blobsOf(path);
  const refuse = refusalOf(path);
  return textOf(path).trimEnd().split("\n").map((line) =>
    readFact(line, (name) => readBlob(folder, name), (why) => refuse(why))
  );
}

/** The first line of a tape, without looking at the rest. @throws {TapeError} if it is not a header of this version */
export function readHeader(path: string): Header {
  const text = textOf(path);
  const [line = ""] = text.split("\n", 1);
  const refuse = refusalOf(path);
  refuseUnread(text, refuse);
  const header = readFact(line, () => "", (why, fix) => refuse(why, 1, fix)) as Header;
  checkVersion(header, refuse);
  return header;
}

/** The same of a fixture, whose tape may be in memory. */
export function headerOf({ taped, tape }: Fixture): Header {
  return taped?.header ?? readHeader(tape);
}

/** The tape of a fixture. */
export async function tapeIn({ taped, tape }: Fixture): Promise<Tape> {
  return taped ?? await readTape(tape);
}

type Refuse = (why: string, line?: number, fix?: string) => TapeError;

/** Why a tape is not used, where, and what to do. */
function refusalOf(path: string): Refuse {
  return (why, line, fix = RENEW) =>
    new TapeError(`Cannot read tape ${path} as ${line === undefined ? "" : `line ${line}: `}${why}: ${fix}`);
}

/** What a tape's file says, without the byte order mark that an editor may have put before it. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    const code = (error as { code?: string }).code;
    throw new TapeError(`Cannot read tape ${path} as ${WHY_UNREAD[code ?? ""] ?? code ?? error}`);
  }
}

const WHY_UNREAD: { readonly [code: string]: string } = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder: a tape is a file, as 'crochet record' makes it",
  EACCES: "you have no permission to read it: look at its owner and mode",
};

function checkVersion({ tape }: { readonly tape: number }, refuse: Refuse): void {
  if (tape === TAPE_VERSION) return;
  if (tape === undefined) throw refuse("its first line is not a header");
  const fix = tape > TAPE_VERSION ? "update crochet" : "delete it and record again";
  throw refuse(`its version is ${tape}`, undefined, `this release reads version ${TAPE_VERSION}, ${fix}`);
}

/** Reads the text of a tape; `path` is for messages. */
export async function parseTape(
  text: string,
  path: string,
  options: ReadOptions = {},
  blob: (name: string) => string | undefined = (name) => {
    throw new Error(`Cannot read blob ${name} as there is no folder to look in`);
  },
): Promise<Tape> {
  const refuse = refusalOf(path);
  refuseUnread(text, refuse);
  const texts = [text];
  let unpacked = text.length;
  let lacks = false;
  const kept = (name: string) => {
    const found = blob(name);
    lacks ||= found === undefined;
    const long = found ?? JSON.stringify([`blobs/${name} is not here`]); // a list, as deltas are
    unpacked += long.length;
    if (unpacked > MOST_CHARACTERS) {
      throw refuse(`it unpacks to more than ${MOST_CHARACTERS} characters`, undefined, "record a shorter run");
    }
    texts.push(long);
    return long;
  };
  const facts = text.slice(0, -1).split("\n").map((line, i) =>
    readFact(line, kept, (why, fix) => refuse(why, i + 1, fix))
  );
  const [header, ...rest] = facts as [Header, ...Fact[]];
  checkVersion(header, refuse);
  const tape = await new Assembly(header, refuse, lacks).read(rest);
  // Not by this machine's environment: a tape must load everywhere or nowhere.
  const search = options.redactor ?? redactor({ env: {} });
  if (isSuspect(texts, tape, search)) {
    const [found, ...more] = scanFacts(facts, tape, search);
    const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
    if (found) {
      const fix = "take it out of the repository and record again";
      throw new SecretOnTape(refuse(`${found.path} shows ${whatIs(found)}${others}`, undefined, fix).message);
    }
  }
  return tape;
}

function refuseUnread(text: string, refuse: Refuse): void {
  if (text === "") throw refuse("it is empty");
  if (text.startsWith(LFS)) throw refuse("Git LFS has not fetched it", undefined, "git lfs pull");
  if (text.includes("\0")) throw refuse("it is not UTF-8 text");
  if (!text.endsWith("\n")) throw refuse("its last line is cut off");
  // A header of another version may have other keys as well: its version is the reason, not what is new in it.
  const [, version] = /^\s*\{\s*"tape"\s*:\s*(\d+)/.exec(text) ?? [];
  if (version !== undefined) checkVersion({ tape: Number(version) }, refuse);
}

/** What stands in a checkout for a file that Git LFS keeps. */
const LFS = "version https://git-lfs.github.com/spec/";

function readFact(
  line: string,
  blob: (name: string) => string,
  refuse: (why: string, fix?: string) => TapeError,
): Header | Fact {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    if (/^(?:<{7}|={7}|>{7})/.test(line)) {
      throw refuse("it is the mark of a merge", "take one side whole ('git checkout --ours' or '--theirs')");
    }
    if (line.trim() === "") throw refuse("it is empty", "take it out");
    throw refuse(`it is not JSON (${(error as Error).message})`);
  }
  try {
    value = fromBlobs(value, blob);
  } catch (error) {
    if (error instanceof TapeError) throw error;
    throw refuse("a long text of it is missing", (error as Error).message);
  }
  const why = unknownFact(value);
  if (why !== undefined) throw new UnknownLine(refuse(why).message);
  return value as Header | Fact;
}
