import { parsed } from "../../core/json.ts";
import { getOrMake } from "../../core/maps.ts";
import type { Fact, Header, ToolFact } from "../entry.ts";
import { eventsOf } from "../recorded-reply.ts";
import { runDelta } from "../call-lines.ts";
import { type Finding, isSignature, type Redactor } from "./redact.ts";
import type { Tape } from "../tape.ts";

/** Every secret that a tape's lines show, also where a reply says it in pieces. */
export function scanFacts(facts: readonly (Header | Fact)[], tape: Tape, search: Redactor): Finding[] {
  const inLines = facts.flatMap((fact, i) => [
    ...search.find(withBody(fact), `line ${i + 1}`),
    ...binariesOf(fact).flatMap(({ path, text }) =>
      // Cookies and ids are taken out unasked; out of such a file nothing can be taken.
      search.find(text, `line ${i + 1}.files.${path}.base64`).filter(({ kind }) =>
        kind === "environment" || kind === "key"
      )
    ),
  ]);
  const inReplies = joinedTexts(tape).flatMap(({ path, text }) => [
    ...search.find(text, path),
    // The input of a tool is streamed as JSON: in it, texts are written with escapes.
    ...search.find(parsed(text), path),
  ]);
  return [...inLines, ...inReplies];
}

/** A fact with its body as a value: opaque fields of it are not searched. */
function withBody(fact: Header | Fact): unknown {
  const body = "body" in fact && typeof fact.body === "string" ? parsed(fact.body) : undefined;
  return body === undefined ? fact : { ...fact, body };
}

/** Whether a tape's texts, or what its replies say in pieces, may show a secret; quick. */
export function isSuspect(texts: readonly string[], tape: Tape, search: Redactor): boolean {
  return texts.some(search.suspects) ||
    [...joinedTexts(tape), ...tape.tools.flatMap(binariesOf)].some(({ text }) => search.suspects(text));
}

function binariesOf(fact: Header | Fact): { path: string; text: string }[] {
  if (!("tool" in fact) || !("files" in fact)) return [];
  return Object.entries(fact.files as ToolFact["files"] ?? {}).flatMap(([path, content]) => {
    const bytes = (content as { base64?: unknown } | null)?.base64;
    return typeof bytes === "string" ? [{ path, text: Buffer.from(bytes, "base64").toString("latin1") }] : [];
  });
}

/** What replies say in pieces, put together: a secret may be cut anywhere. */
function joinedTexts({ calls }: Tape): { path: string; text: string }[] {
  return calls.flatMap(({ id, attempts }) =>
    attempts.flatMap((attempt, n) => {
      const texts = new Map<string, string[]>();
      for (const event of eventsOf(attempt).events) {
        const delta = runDelta(event);
        if (!delta || isSignature(delta)) continue;
        getOrMake(texts, `${id} attempt ${n + 1} block ${delta.index}`, () => []).push(delta.text);
      }
      return [...texts].map(([path, parts]) => ({ path, text: parts.join("") }));
    })
  );
}

/** A finding in words, without the secret. */
export function whatIs({ kind, name }: Finding): string {
  return {
    environment: `the value of the environment variable ${name}`,
    key: `what looks like a secret (${name})`,
    cookie: "a cookie",
    organisation: "the id of an organisation, a workspace or a user",
  }[kind];
}
