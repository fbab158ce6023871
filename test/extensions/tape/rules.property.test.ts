import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { asksModel, leavesOf } from "../../../lib/replay/requests/api.ts";
import { sentKey, SentMatcher } from "../../../lib/replay/requests/match-request.ts";
import { rounds } from "../../_counts.ts";
import { noRecordings } from "../../_data.ts";
import { recordedRuns, tapeOfRecorded } from "./_pairs.ts";
import type { Sent } from "../../../lib/log/tape.ts";

/** Where an edit may be hidden, by what is known to differ between two unchanged runs. */
const PATHS =
  /^(?:metadata|prompt_cache_key|client_metadata)(?:\.|$)|(?:^|\.)cache_control(?:\.|$)|^stream$|^input\.\d+\.(?:id|internal_chat_message_metadata_passthrough.*)$|function(?:Call|Response)\.id$/;
const SPANS = [
  /Today's date is [^\n(]*|Today's date: [^\n]*|Current date: [^\n]*|<current_date>[^<]*|<timezone>[^<]*/g,
  /^x-anthropic-billing-header: .*$|OS Version: [^\n]*|\{AGENT-ID-\d+\}/g,
  /agentId: \w*|to: '[^']*|duration_ms: \d*|background with ID: b\w*|<task-id>\w*|\/tasks\/b\w*/g,
  /Chunk ID: \w*|Original token count: \d*|Wall time:? [\d.]*|"chunk_id":"\w*|"wall_time_seconds":[\d.e-]*|"nickname":"[^"]*|[0-9a-f-]{36}/g,
  /Process Group PGID: \d*|\/\.gemini\/tmp\/[\w.-]*|<task id="ses_\w*/g,
];

test("an edit of a request is always drift at its path, unless it is where unchanged runs differ", {
  skip: noRecordings,
}, () => {
  const tapes = recordedRuns().filter(({ variant, scenario }) => variant === "a" && /loop|subagent/.test(scenario)).map(
    (run) => {
      const tape = tapeOfRecorded(run);
      return { matcher: new SentMatcher(tape), calls: tape.calls.filter(({ sent }) => sent && asksModel(sent)) };
    },
  );
  const tried = { seen: 0, hidden: 0 };
  const number = fc.nat({ max: 999_999 });
  fc.assert(
    fc.property(number, number, number, number, fc.constantFrom("Q", "Ω\n", "7"), (t, c, l, at, word) => {
      const { matcher, calls } = tapes[t % tapes.length]!;
      const sent = calls[c % calls.length]!.sent!;
      const leaves = [...leavesOf(sent.body)];
      const [path, value] = leaves[l % leaves.length]!;
      const place = typeof value === "string" ? at % (value.length + 1) : 0;
      const edited = { ...sent, body: changed(sent.body, path.slice(1).split("."), edit(value, place, word)) } as Sent;
      const name = path.slice(1);
      if (sentKey(edited) === sentKey(sent)) {
        const isIn = ({ index, 0: found }: RegExpExecArray) => place >= index && place <= index + found.length;
        assert.ok(
          PATHS.test(name) || SPANS.some((span) => [...String(value).matchAll(span)].some(isIn)),
          `${name} was changed at ${place}, which nothing shows: ${
            String(value).slice(Math.max(0, place - 40), place + 40)
          }`,
        );
        tried.hidden++;
        return;
      }
      if (PATHS.test(name)) return; // ids that are numbered: one of two that were equal is another number now
      assert.equal(matcher.explain(edited, "main").path, isText(name, value) ? `${name}.0.text` : name);
      tried.seen++;
    }),
    { numRuns: rounds(100, 1_500) },
  );
  assert.ok(tried.seen > tried.hidden, JSON.stringify(tried));
});

/** Whether a text is compared as one block. */
function isText(path: string, value: unknown): boolean {
  return typeof value === "string" && /^(?:messages\.\d+\.content|system)$/.test(path);
}

function edit(value: unknown, at: number, word: string): unknown {
  if (typeof value === "string") return value.slice(0, at) + word + value.slice(at);
  return typeof value === "number" ? value + 1 : typeof value === "boolean" ? !value : word;
}

function changed(value: unknown, [key, ...rest]: readonly string[], to: unknown): unknown {
  if (key === undefined) return to;
  if (Array.isArray(value)) return value.map((part, i) => String(i) === key ? changed(part, rest, to) : part);
  return { ...value as object, [key]: changed((value as { [key: string]: unknown })[key], rest, to) };
}
