import type { SecretKind } from "../../log/redact/secrets.ts";

/** What is known of the wire a run went over. */
export class SeenWire {
  url?: string;
  /** Whether anything answered, and the first answer's id. */
  answer?: { readonly requestId: string | null };
  sdk?: string;
  api?: string;
  /** Fields of requests that middleware or headers of the model changed. */
  readonly fields: Set<string> = new Set();
  readonly #learn: (kind: SecretKind, name: string, value: string) => void;

  /** `learn` gets the secrets in headers, which must not be shown anywhere else. */
  constructor(learn: (kind: SecretKind, name: string, value: string) => void) {
    this.#learn = learn;
  }

  went(url: string): void {
    this.url ??= new URL(url).origin;
  }

  requestHeaders(headers: Headers): void {
    this.sdk ??= headers.get("x-stainless-package-version") ?? "unknown";
    this.api ??= headers.get("anthropic-version") ?? "unknown";
    const key = headers.get("x-api-key") ?? headers.get("authorization")?.replace(/^Bearer /, "");
    if (key) this.#learn("key", "api-key", key);
  }

  responseHeaders(headers: Headers): void {
    this.answer ??= { requestId: headers.get("request-id") };
    for (const name of ["anthropic-organization-id", "anthropic-workspace-id"]) {
      const id = headers.get(name);
      if (id) this.#learn("organisation", name, id);
    }
    for (const cookie of headers.getSetCookie()) {
      const value = /^[^=]*=([^;]+)/.exec(cookie)?.[1];
      if (value) this.#learn("cookie", "set-cookie", value);
    }
  }
}

/** What replied, as far as the wire shows. */
export function sourceOf(url: string, requestId: string | null | undefined): string {
  if (requestId?.startsWith("req_scripted_")) return "scripted server";
  const { hostname } = new URL(url);
  return hostname === "api.anthropic.com" ? "live API" : `gateway ${hostname}`;
}
