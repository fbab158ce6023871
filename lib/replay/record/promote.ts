import type { Message } from "../../core/messages.ts";
import { type Mask, mask } from "../../log/redact/mask.ts";
import { placer, placesHere } from "../../log/redact/places.ts";
import { withOtherTexts } from "../scratch.ts";
import { sourceOf } from "./seen-wire.ts";
import type { Call, Tape } from "../../log/tape.ts";
import type { Header } from "../../log/entry.ts";
import { secretsOf } from "../../log/logged-run.ts";
import type { Log } from "../../log/read-log.ts";
import { plainJson } from "../../log/step.ts";

/** The tape of a log: places, and secrets if asked for, are placeholders. `header` says of which fixture it becomes part. */
export function promoted(log: Log, header: Pick<Header, "agent" | "project">, redact = false) {
  const { tape, header: { cwd } } = log;
  const secrets = secretsOf(log);
  const { agent: _, permissions, own: program, ...own } = tape.header;
  const to = mask(placer(placesHere(cwd)), redact ? secrets : undefined);
  const rules = { ...permissions && { permissions: to.on(permissions) }, ...program && { own: to.on(program) } };
  return { tape: masked({ ...tape, header: { ...own, ...header, source: sourceIn(tape), ...rules } }, to), secrets };
}

/** A tape with the texts of this machine as it is written. Twice: a secret that was given away late may stand by itself before. */
export function masked(tape: Tape, to: Pick<Mask, "on" | "attemptOn">): Tape {
  maskedOnce(tape, to);
  return maskedOnce(tape, to);
}

function maskedOnce(tape: Tape, { on, attemptOn }: Pick<Mask, "on" | "attemptOn">): Tape {
  const known = new Map<Message, Message>();
  const message = (given: Message): Message => {
    const made = known.get(given) ?? on(plainJson(given) as unknown as Message);
    known.set(given, made);
    return made;
  };
  const call = ({ request: { messages, ...head }, attempts, error, ...rest }: Call): Call => ({
    ...rest,
    request: { ...on(head), messages: messages.map(message) },
    attempts: attempts.map((attempt) => attemptOn(attempt)),
    ...(error && { error: on(error) }),
  });
  const { header, calls, tools, clocks, files, ...rest } = tape;
  return {
    ...on(rest),
    header,
    clocks,
    calls: calls.filter(({ attempts }) => attempts.length > 0).map(call),
    tools: tools.map((fact) => withOtherTexts(fact, on)),
    ...(files && { files: on(Object.fromEntries(Object.entries(files).sort(([a], [b]) => a < b ? -1 : 1))) }),
  };
}

/** What replied, as its first reply shows. */
function sourceIn({ header: { url, source }, calls }: Tape): string {
  const [first] = calls.flatMap(({ attempts }) => attempts.flatMap(({ events = [] }) => events));
  const { message } = (first?.event ?? {}) as { message?: { id?: string } };
  if (message?.id?.startsWith("msg_scripted_")) return "scripted server";
  return url === undefined ? source : sourceOf(url, undefined);
}
