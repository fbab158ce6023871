import { NEVER, settle, systemClock } from "../core/clock.ts";
import { thrownWords } from "../core/shown.ts";

/** Packages of the project, loaded by variables: who bundles an agent need not have them. */
const SDK = "@opentelemetry/sdk-trace-base";
const EXPORTER = "@opentelemetry/exporter-trace-otlp-http";
const INSTALL = `npm install ${SDK}@2 ${EXPORTER}@0.301`;

/** What is not sent by then is lost: a collector that is away holds no one up. */
const FLUSH_MS = 3000;

/** What sends the rest of the spans; of the process, as a script may bring another copy of this package than the CLI. */
const FLUSH = Symbol.for("crochet.flush-spans");
const shared = globalThis as { [FLUSH]?: () => Promise<void> };

/** Sends what is not sent yet, before the process exits. The CLI does it without loading this. */
export async function flushSpans(): Promise<void> {
  await shared[FLUSH]?.();
}

let begun: Promise<boolean> | undefined;

/** Has the spans of this process sent to the collector that the environment names. False, with one line: they cannot be. */
export function exportSpans(): Promise<boolean> {
  return begun ??= begin().then(() => true, (error) => {
    const [line = ""] = thrownWords(error).split("\n");
    console.error(`crochet: Cannot send spans to OTEL_EXPORTER_OTLP_ENDPOINT as ${reason(line)}: ${INSTALL}`);
    return false;
  });
}

function reason(line: string): string {
  const missing = /cannot find|could not (?:find|resolve)|not found|not a dependency/i.test(line);
  return missing ? `${line.includes(EXPORTER) ? EXPORTER : SDK} is not installed` : line;
}

async function begin(): Promise<void> {
  const { trace } = await import("@opentelemetry/api");
  const { BasicTracerProvider, BatchSpanProcessor } = await import(SDK);
  const { OTLPTraceExporter } = await import(EXPORTER);
  const spanProcessors = [new BatchSpanProcessor(new OTLPTraceExporter())];
  const provider = new BasicTracerProvider({ resource: resource(process.env), spanProcessors });
  trace.setGlobalTracerProvider(provider);
  shared[FLUSH] = async () => {
    const end = await settle(provider.forceFlush(), { clock: systemClock, signal: NEVER, ms: FLUSH_MS });
    if ("ended" in end) report(`there was no answer in ${FLUSH_MS / 1000} s`);
    if ("error" in end) report(end.error);
  };
  // Nothing else is left to do by then; what still tries to send would hold the process.
  process.once("beforeExit", () => void flushSpans().then(() => process.exit()));
}

/** Who sends: the SDK reads these variables only together with packages that are not needed otherwise. */
function resource({ OTEL_SERVICE_NAME: name, OTEL_RESOURCE_ATTRIBUTES: given = "" }: NodeJS.ProcessEnv): object {
  const pairs = given.split(",").map((pair) => pair.split("=")).filter(([key, value]) => key && value);
  const named = pairs.map(([key, value]) => [key!.trim(), decodeURIComponent(value!.trim())]);
  const attributes = { "service.name": "crochet", ...Object.fromEntries(named), ...(name && { "service.name": name }) };
  return { attributes, getRawAttributes: () => Object.entries(attributes) };
}

function report(error: unknown): void {
  const words = thrownWords(Array.isArray(error) ? error[0] : error);
  console.error(`crochet: Cannot send the last spans as ${words}: look at OTEL_EXPORTER_OTLP_ENDPOINT`);
}
