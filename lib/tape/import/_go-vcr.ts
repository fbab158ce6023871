import { exchangeOf } from "./_written.ts";
import { fieldsOf, type Format, isFields, listOf, topOf } from "./exchange.ts";

/** go-vcr, all versions: the status is a line of text with the code beside it. */
export const goVcr: Format = {
  name: "go-vcr",
  about: "Go's go-vcr, versions 1 to 4",
  recognises: (file) => {
    const first = listOf(topOf(file), "interactions")?.[0];
    return isFields(first?.request) && isFields(first.response) && "url" in first.request && "code" in first.response;
  },
  read: (file) =>
    listOf(topOf(file), "interactions")!.map((interaction) => {
      const request = fieldsOf(interaction.request);
      const response = fieldsOf(interaction.response);
      return exchangeOf({
        method: request.method,
        url: String(request.url),
        requestHeaders: request.headers,
        request: request.body,
        status: response.code,
        headers: response.headers,
        body: () => response.body,
        took: milliseconds(response.duration),
      });
    }),
};

const UNITS: { readonly [unit: string]: number } = {
  ns: 1e-6,
  "µs": 1e-3,
  us: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** A duration as Go prints it: `1m2.5s`, `968.753458ms`; nanoseconds where it is a number. */
function milliseconds(duration: unknown): number | undefined {
  if (typeof duration === "number") return duration / 1e6;
  if (typeof duration !== "string" || duration === "") return undefined;
  const parts = [...duration.matchAll(/([\d.]+)(ns|µs|us|ms|s|m|h)/g)];
  return parts.length === 0 ? undefined : parts.reduce((sum, [, n, unit]) => sum + Number(n) * UNITS[unit!]!, 0);
}
