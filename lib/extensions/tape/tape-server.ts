import { checkOptions } from "../../input/options.ts";
import type { DriftReport } from "../../replay/drift/drift-report.ts";
import { findFixture } from "../../replay/fixture.ts";
import { refuseInCi } from "../../replay/tape-options.ts";
import { placesHere } from "../../log/redact/places.ts";
import { listen } from "../../replay/requests/listen.ts";
import { placeholderKeys, variablesFor } from "./pointing.ts";
import { Replayer } from "./answer-requests.ts";
import { recordedTape, startRecording } from "./run-command.ts";

interface TapeServerOptions {
  /** `record` passes requests on to the real API and keeps them when it is closed. @default "replay" */
  readonly mode?: "replay" | "record";
  /** Where the program works, whose paths stand on the tape as `{ROOT}`. @default the working directory */
  readonly cwd?: string;
  /** Serves a request that differs only in what tools said. @default false */
  readonly loose?: boolean;
  /** With `record`: writes placeholders for secrets. @default false: a run that shows one is not kept */
  readonly redact?: boolean;
}

/** A tape served on 127.0.0.1. */
interface TapeServer extends AsyncDisposable {
  readonly url: string;
  /** Variables by which SDKs and agents find it; in a replay also a placeholder for each key that is not set. */
  readonly env: { readonly [name: string]: string };
  /** What has changed so far, of a tape that is replayed. */
  drift(): Promise<DriftReport>;
  close(): Promise<void>;
}

/**
 * Serves a tape of `crochet record --` to a program that a test starts, or records one.
 *
 * @example
 * ```ts
 * import { scriptedServer, tapeServer } from "crochet/testing";
 *
 * const ask = (url: string) =>
 *   fetch(`${url}/v1/messages`, {
 *     method: "POST",
 *     headers: { "x-api-key": "none", "anthropic-version": "2023-06-01" },
 *     body: JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] }),
 *   });
 * await using api = await scriptedServer([{ text: "hello" }]);
 * process.env.ANTHROPIC_BASE_URL = api.url;
 * {
 *   await using server = await tapeServer("greeting", { mode: "record" });
 *   await ask(server.env.ANTHROPIC_BASE_URL!);
 * }
 * await using server = await tapeServer("greeting");
 * console.log((await ask(server.env.ANTHROPIC_BASE_URL!)).status, (await server.drift()).ok); // 200 true
 * ```
 */
export async function tapeServer(name: string, options: TapeServerOptions = {}): Promise<TapeServer> {
  checkOptions(
    options,
    { mode: "any", cwd: "a text", loose: "true or false", redact: "true or false" },
    "serve a tape",
  );
  const { mode = "replay", cwd = process.cwd(), redact = false, ...match } = options;
  const fixture = findFixture(name, cwd);
  if (mode === "record") {
    refuseInCi("record", name, process.env);
    const { server, write } = await startRecording(process.env, cwd, redact);
    let closed: Promise<void> | undefined;
    const close = () => closed ??= server.close().then(async () => void await write(fixture, "closed"));
    return {
      url: server.url,
      env: variablesFor(server.url, process.env),
      drift: () => Promise.reject(new Error(`Cannot compare ${name} as it is recorded: replay it`)),
      close,
      [Symbol.asyncDispose]: close,
    };
  }
  if (mode !== "replay") throw new TypeError(`Cannot serve ${name} in mode '${mode}': "replay" or "record"`);
  const given = { ...match, name, places: placesHere(cwd), elsewhere: true };
  const replayer = new Replayer(await recordedTape(fixture), given);
  const server = await listen(replayer.answer);
  return {
    url: server.url,
    env: { ...variablesFor(server.url, process.env), ...placeholderKeys(process.env) },
    drift: () => replayer.report(`delete it, then serve it in mode "record"`),
    close: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}
