import { asError } from "./thrown.ts";
import type { Message, TextBlock } from "./messages.ts";
import { ModelError, type Reply } from "./model.ts";
import type { PartlyUsed } from "./reply.ts";
import type { Run } from "./run.ts";

/** How one attempt ended; a failure is a result like another, or a run that is run again would make the call again. */
type Attempted = { readonly reply: Reply } | { readonly failed: Failure };

interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly retryable?: boolean;
  readonly retryAfter?: number;
  /** What had come of the reply. */
  readonly used?: PartlyUsed;
}

/** One attempt to get a reply, as a step. What is streamed is told outside; a known reply is told in one piece. */
export function modelStep(
  run: Run,
  partial: PartlyUsed,
  call: () => Reply | Promise<Reply>,
): Reply | Promise<Reply> {
  const { engine, step } = run.agent;
  if (!engine && !step) return call();
  const name = run.nameOf("llm", String(run.count.iterations));
  const made = () => run.measured(name, async () => await call());
  return engine ? journaled(run, name, partial, made) : made();
}

async function journaled(
  run: Run,
  name: string,
  partial: PartlyUsed,
  call: () => Promise<Reply>,
): Promise<Reply> {
  let streamed = false;
  const attempted = await run.named(name, async (): Promise<Attempted> => {
    streamed = true;
    try {
      return { reply: await call() };
    } catch (error) {
      // Whoever interrupts wants the run to end now: how the call ended is not known.
      if (run.signal.aborted) throw error;
      return { failed: { ...failureOf(error), ...(partial.usage && { used: partial }) } };
    }
  });
  if ("failed" in attempted) {
    Object.assign(partial, attempted.failed.used);
    throw revived(attempted.failed);
  }
  if (!streamed) tell(run, attempted.reply.message);
  return attempted.reply;
}

function tell(run: Run, message: Message): void {
  for (const block of message.content) {
    if (block.type === "text") run.emit({ type: "text", text: (block as TextBlock).text });
  }
}

function failureOf(error: unknown): Failure {
  const { name, message } = asError(error);
  if (!(error instanceof ModelError)) return { name, message };
  const { code, retryable, retryAfter } = error;
  return { name, message, code, retryable, ...(retryAfter !== undefined && { retryAfter }) };
}

function revived({ name, message, code, retryable = false, retryAfter }: Failure): Error {
  if (code === undefined) return Object.assign(new Error(message), { name });
  return new ModelError(message, { code, retryable, ...(retryAfter !== undefined && { retryAfter }) });
}
