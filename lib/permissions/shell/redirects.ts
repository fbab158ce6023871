import { scanBody } from "./expansions.ts";
import { bashOnly, literal, type Reader, Unreadable, type Word } from "./reader.ts";
import { readWord, skipBlanks } from "./words.ts";

export interface Redirect {
  /** `write` also for a file that is opened to read and write. */
  readonly kind: "read" | "write";
  readonly target: Word;
}

/** Reads the redirection at the reader, if one stands there. */
export function readRedirect(r: Reader, redirects: Redirect[]): boolean {
  const rest = r.text.slice(r.at, r.at + 64);
  const match = /^(?:[0-9]+|\{[A-Za-z_]\w*\})?(&>>|&>|<<<|<<-|<<|<>|<&|>&|>>|>\||[<>](?!\())/.exec(rest);
  if (!match) return false;
  const operator = match[1]!;
  if (rest.startsWith("{") || /^(?:&>|<<<)/.test(operator)) bashOnly(r, `'${operator}'`);
  r.at += match[0].length;
  skipBlanks(r);
  const target = readWord(r);
  if (!target) throw new Unreadable("a redirection has no target");
  const name = literal(target);
  if (operator === "<<" || operator === "<<-") {
    if (name === undefined || name.includes("\n")) {
      throw new Unreadable("a here-document ends in a way that is not read");
    }
    r.bodies.push({ end: name, tabs: operator === "<<-", expands: target.bare });
  } else if (operator === "<<<") return true;
  else if (/[<>]&$/.test(operator) && /^(?:[0-9]+-?|-)$/.test(name ?? "")) return true;
  // Bash expands a name that is no number a second time: what was quoted then runs.
  else if (/[<>]&$/.test(operator) && (name === undefined || /[$`<>]/.test(name))) {
    throw new Unreadable(`what stands behind '${operator}' is expanded twice`);
  } else redirects.push({ kind: operator === "<" ? "read" : "write", target });
  return true;
}

/** Reads the here-documents that the line just ended has announced. */
export function readBodies(r: Reader): void {
  for (const body of r.bodies.splice(0)) {
    let inside = "";
    while (true) {
      if (r.at >= r.text.length) throw new Unreadable("a here-document is not closed");
      const newline = r.text.indexOf("\n", r.at);
      const line = r.text.slice(r.at, newline < 0 ? undefined : newline);
      r.at = newline < 0 ? r.text.length : newline + 1;
      if ((body.tabs ? line.replace(/^\t+/, "") : line) === body.end) break;
      // A continued line joins the next one, so the end would not be seen where we see it.
      if (body.expands && line.endsWith("\\")) throw new Unreadable("a here-document continues a line");
      inside += `${line}\n`;
    }
    if (body.expands) scanBody(inside, r);
  }
}
