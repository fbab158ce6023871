import { type Io, UsageError } from "./_io.ts";

/** More is a file that the agent should read in parts. */
const MOST_BYTES = 10 * 1024 * 1024;

/** How long a pipe may stay silent: one that cron or CI left open never sends anything. */
const PATIENCE_MS = 3000;

/** The prompt of a command: its words, then what is piped into it. The word `-` alone means only what is piped. */
export async function promptOf(words: readonly string[], { stdin, signal, err }: Io): Promise<string> {
  const only = words.length === 1 && words[0] === "-";
  const said = only ? "" : words.join(" ");
  if (!stdin || !(only || stdin.isPiped)) return said;
  const piped = await read(stdin.stream, signal, only ? undefined : PATIENCE_MS);
  if (piped === undefined) {
    err(
      `crochet: stdin is open but sent nothing for ${PATIENCE_MS / 1000} s, so it is not part of the prompt: ` +
        "add < /dev/null to skip the wait, or give - as the prompt to wait for it\n",
    );
  }
  return [said, piped?.trimEnd() ?? ""].filter((part) => part.trim() !== "").join("\n\n");
}

/** All of a stream as text; undefined if it is still silent after `patience` milliseconds. */
async function read(
  stream: NonNullable<Io["stdin"]>["stream"],
  signal: AbortSignal,
  patience: number | undefined,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const timer = patience === undefined ? undefined : setTimeout(() => resolve(false), patience);
  const take = (chunk: Uint8Array) => {
    clearTimeout(timer);
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MOST_BYTES) {
      reject(
        new UsageError("Cannot read stdin as it is over 10 MB: save it as a file and ask the agent to read the file"),
      );
    }
  };
  const end = () => resolve(true);
  const interrupt = () => reject(signal.reason);
  signal.addEventListener("abort", interrupt, { once: true });
  if (signal.aborted) interrupt();
  stream.on("data", take).on("end", end).on("error", reject);
  try {
    return await promise ? new TextDecoder().decode(Buffer.concat(chunks)) : undefined;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", interrupt);
    stream.off("data", take).off("end", end);
    // Otherwise a pipe that stays open keeps the process alive.
    stream.pause();
  }
}
