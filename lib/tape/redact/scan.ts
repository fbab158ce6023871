import { parsed } from "../../core/json.ts";
import type { Fact, Header } from "../format.ts";
import { eventsOf } from "../reply.ts";
import { runDelta } from "../_pack.ts";
import type { Finding, Redactor } from "./redact.ts";
import type { Tape } from "../tape.ts";

/** Every secret that a tape's lines show, also where a reply says it in pieces. */
export function scanFacts(facts: readonly (Header | Fact)[], tape: Tape, search: Redactor): Finding[] {
  const inLines = facts.flatMap((fact, i) => search.find(fact, `line ${i + 1}`));
  const inReplies = joinedTexts(tape).flatMap(({ path, text }) => [
    ...search.find(text, path),
    // The input of a tool is streamed as JSON: in it, texts are written with escapes.
    ...search.find(parsed(text), path),
  ]);
  return [...inLines, ...inReplies];
}

/** Whether a tape's texts, or what its replies say in pieces, may show a secret; quick. */
export function isSuspect(texts: readonly string[], tape: Tape, search: Redactor): boolean {
  return texts.some(search.suspects) || joinedTexts(tape).some(({ text }) => search.suspects(text));
}

/** What replies say in pieces, put together: a secret may be cut anywhere. */
function joinedTexts({ calls }: Tape): { path: string; text: string }[] {
  return calls.flatMap(({ id, attempts }) =>
    attempts.flatMap((attempt, n) => {
      const texts = new Map<string, string[]>();
      for (const event of eventsOf(attempt).events) {
        const delta = runDelta(event);
        if (!delta) continue;
        const path = `${id} attempt ${n + 1} block ${delta.index}`;
        const parts = texts.get(path);
        if (parts) parts.push(delta.text);
        else texts.set(path, [delta.text]);
      }
      return [...texts].map(([path, parts]) => ({ path, text: parts.join("") }));
    })
  );
}

/** A finding in words, without the secret. */
export function whatIs({ kind, name }: Finding): string {
  switch (kind) {
    case "environment":
      return `the value of the environment variable ${name}`;
    case "key":
      return `what looks like a secret (${name})`;
    case "cookie":
      return "a cookie";
    case "organisation":
      return "the id of an organisation, a workspace or a user";
  }
}
