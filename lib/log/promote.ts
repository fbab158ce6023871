import type { Message } from "../core/messages.ts";
import { type Mask, mask } from "../replay/redact/mask.ts";
import { placer, placesHere } from "../replay/redact/places.ts";
import { type Redactor, redactor } from "../replay/redact/redact.ts";
import { withOtherTexts } from "../replay/tape-tools.ts";
import { sourceOf } from "../replay/record/recorded-tape.ts";
import type { Call, Tape } from "../replay/tape.ts";
import type { Header } from "./entry.ts";
import type { Log } from "./read-log.ts";

interface Promotion {
  /** What its header says of the fixture it becomes part of. */
  readonly header: Pick<Header, "agent" | "project">;
  /** Whether secrets become placeholders. */
  readonly redact: boolean;
}

/** Finds the secrets of a log: those of here and now, and those that it names itself. */
export function secretsOf({ header: { seed, cwd }, secrets }: Log): Redactor {
  const search = redactor({ seed, root: cwd, learns: true });
  for (const { secret, name, value } of secrets) search.learn(secret, name, value);
  return search;
}

/** The tape of a log: places, and secrets if asked for, are placeholders. */
export function promoted(log: Log, { header, redact }: Promotion): { readonly tape: Tape; readonly secrets: Redactor } {
  const secrets = secretsOf(log);
  const { on, attemptOn } = mask(placer(placesHere(log.header.cwd)), redact ? secrets : undefined);
  const made = () => masked(log, { on, attemptOn }, header);
  // Twice: a secret that was given away late may stand by itself before.
  if (redact) made();
  return { tape: made(), secrets };
}

function masked({ tape }: Log, { on, attemptOn }: Pick<Mask, "on" | "attemptOn">, header: Promotion["header"]): Tape {
  const known = new Map<Message, Message>();
  const message = (given: Message): Message => {
    const made = known.get(given) ?? on(given);
    known.set(given, made);
    return made;
  };
  const call = ({ request: { messages, ...head }, attempts, error, ...rest }: Call): Call => ({
    ...rest,
    request: { ...on(head), messages: messages.map(message) },
    attempts: attempts.map((attempt) => attemptOn(attempt)),
    ...(error && { error: on(error) }),
  });
  const { calls, tools, clocks, header: { agent: _, source: __, permissions, ...own }, ...rest } = tape;
  return {
    ...on(rest),
    clocks,
    header: {
      ...own,
      ...header,
      source: sourceIn(tape),
      ...(permissions && { permissions: on(permissions) }),
    },
    calls: calls.filter(({ attempts }) => attempts.length > 0).map(call),
    tools: tools.map((fact) => withOtherTexts(fact, on)),
  };
}

/** What replied, as its first reply shows. */
function sourceIn({ header: { url, source }, calls }: Tape): string {
  const [first] = calls.flatMap(({ attempts }) => attempts.flatMap(({ events = [] }) => events));
  const { message } = (first?.event ?? {}) as { message?: { id?: string } };
  if (message?.id?.startsWith("msg_scripted_")) return "scripted server";
  return url === undefined ? source : sourceOf(url, undefined);
}
