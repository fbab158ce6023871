/**
 * A function around each HTTP attempt: it may look at the request, change it, answer it, or send it again. It is what
 * the SDK calls middleware: the SDK's own fit here, and these fit there, though the SDK need not be installed.
 *
 * @example
 * ```ts
 * import { anthropic, type Middleware } from "crochet";
 *
 * const timed: Middleware = async (request, next) => {
 *   const began = performance.now();
 *   const response = await next(request);
 *   console.error(`${request.url}: ${response.status} after ${Math.round(performance.now() - began)} ms`);
 *   return response;
 * };
 * anthropic({ middleware: [timed] });
 * ```
 */
export type Middleware = (
  request: AttemptRequest,
  next: (request: AttemptRequest) => Promise<Response>,
  context: MiddlewareContext,
) => Promise<Response>;

/** What `fetch` takes, and its address. The headers may be changed in place. */
export type AttemptRequest = RequestInit & { headers: Headers; url: string };

export interface MiddlewareContext {
  /** What is asked for; undefined where credentials are fetched. */
  readonly options?: {
    readonly method: "get" | "post" | "put" | "patch" | "delete";
    readonly path: string;
    readonly body?: unknown;
    readonly stream?: boolean | undefined;
  } | undefined;
  /** The SDK's log, as quiet as it was set to be. */
  readonly logger: {
    readonly [level in "error" | "warn" | "info" | "debug"]: (text: string, ...rest: unknown[]) => void;
  };
  /** What the SDK would make of a response, which can still be read afterwards. */
  parse<T = unknown>(response: Response): Promise<T>;
}
