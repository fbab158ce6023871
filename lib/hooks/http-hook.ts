import { lookup } from "node:dns";
import { type ClientRequest, type IncomingMessage, request as httpRequest, type RequestOptions } from "node:http";
import { BlockList, isIP } from "node:net";
import { decodeChunks } from "../process/process.ts";
import type { AnyEvent } from "../core/events.ts";
import type { HookContext } from "../core/hook.ts";
import type { Opinion } from "../core/verdict.ts";
import { failureWords, type HookKindParts } from "./command-hook.ts";
import { answerOf, listeningTo } from "./process/command-answer.ts";
import type { HookHost } from "./process/hook-host.ts";
import { FailedCommand } from "./process/read-result.ts";
import { wireInput } from "./process/wire.ts";

export interface HttpOptions {
  readonly url: string;
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** The only variables that header values may take from the environment. */
  readonly allowedEnvVars?: readonly string[] | undefined;
  /** The name of the event the hook was registered under. */
  readonly registered?: string | undefined;
  /** What makes a failure block, in the words of its front end. */
  readonly blocking?: string | undefined;
}

const ANSWER_BYTES = 8 * 1024 * 1024;

/** A hook that is a URL: the event is posted to it, and its answer is read like what a command prints. */
export function httpHook(options: HttpOptions, host: HookHost): HookKindParts {
  const { url, registered } = options;
  const called = { command: url, registered };
  return {
    kind: "http",
    dialect: "claude",
    run: async (event: AnyEvent, ctx: HookContext): Promise<Opinion> => {
      const body = JSON.stringify(wireInput(event, ctx.cwd, host.wire?.(event), registered));
      const stdout = await post(options, host, body, ctx.signal);
      return answerOf({ code: 0, signal: null, stdout, stderr: "" }, listeningTo(event, called, ctx, host));
    },
    read: (raw) => raw as Opinion,
    refusal: (error, event) => failureWords(error, event, called, options.blocking),
  };
}

async function post(options: HttpOptions, host: HookHost, body: string, signal: AbortSignal): Promise<string> {
  const env = host.env ?? process.env;
  const url = new URL(options.url);
  const local = host.allowLocal ?? env.CROCHET_HOOKS_ALLOW_LOCAL === "1";
  if (!local && isLocalAddress(url.hostname)) throw notLocal(url);
  const request = url.protocol === "https:" ? (await import("node:https")).request : httpRequest;
  const headers = Object.fromEntries(
    Object.entries(options.headers ?? {}).map(([name, value]) => [name, filled(value, options.allowedEnvVars, env)]),
  );
  const sending = request(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    ...(!local && { lookup: publicOnly(url) }),
  });
  signal.addEventListener("abort", () => sending.destroy(), { once: true });
  const answer = await answered(sending, body, options.url);
  const status = answer.statusCode ?? 0;
  const text = await bodyOf(answer);
  // A redirect is not followed: the person did not write where it leads.
  if (status < 200 || status > 299) {
    throw new FailedCommand(`Cannot use the hook's answer as ${options.url} answered with status ${status}`, text);
  }
  return text;
}

/** Header values take `$NAME` and `${NAME}` of the allowed names; others become nothing. */
function filled(value: string, allowed: readonly string[] = [], env: NonNullable<HookHost["env"]>): string {
  return value.replace(
    /\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g,
    (_, braced?: string, bare?: string) => allowed.includes(braced ?? bare!) ? env[braced ?? bare!] ?? "" : "",
  ).trim();
}

/** Resolves a name and refuses it if it leads to this machine or a private network: what is checked is what is used. */
function publicOnly(url: URL): NonNullable<RequestOptions["lookup"]> {
  return (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, []);
      if (addresses.some(({ address }) => isLocalAddress(address))) return done(notLocal(url), []);
      if (options.all) done(null, addresses);
      else done(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
}

function notLocal(url: URL): Error {
  return new Error(
    `Cannot call ${url.origin} as it is on this machine or a private network: set hooks.allowLocal, or CROCHET_HOOKS_ALLOW_LOCAL=1`,
  );
}

function answered(sending: ClientRequest, body: string, url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sending.on("response", resolve);
    sending.on("error", (error) => {
      const known = error.message.startsWith("Cannot ");
      reject(known ? error : new Error(`Cannot reach ${url} as ${error.message || (error as { code?: string }).code}`));
    });
    sending.end(body);
  });
}

async function bodyOf(answer: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer) {
    size += (chunk as Uint8Array).length;
    if (size > ANSWER_BYTES) throw new Error(`Cannot use the hook's answer as it is longer than ${ANSWER_BYTES} bytes`);
    chunks.push(chunk as Uint8Array);
  }
  return decodeChunks(chunks);
}

const LOCAL = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.168.0.0/16", "224.0.0.0/3", "::/127", "fc00::/7", "fe80::/10", "ff00::/8"],
];
const local = new BlockList();
for (const [net, bits] of LOCAL.map((one) => one.split("/") as [string, string])) {
  local.addSubnet(net, Number(bits), net.includes(":") ? "ipv6" : "ipv4");
}

/** Whether an address is this machine, a private network, or nowhere at all; a list knows IPv4 written as IPv6. */
export function isLocalAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  const version = isIP(bare);
  return version !== 0 && local.check(bare, version === 4 ? "ipv4" : "ipv6");
}
