import { answerText, headersOf, requestBody } from "./_body.ts";
import { fieldsOf, type Format, listOf, topOf } from "./exchange.ts";

/** Ruby's VCR, and what took over its form: betamax in Python, vcr in R. */
export const rubyVcr: Format = {
  name: "ruby-vcr",
  about: "Ruby's VCR (and betamax, R's vcr), YAML or JSON",
  recognises: (file) => listOf(topOf(file), "http_interactions") !== undefined,
  read: (file) =>
    listOf(topOf(file), "http_interactions")!.map((interaction) => {
      const request = fieldsOf(interaction.request);
      const response = fieldsOf(interaction.response);
      const headers = headersOf(response.headers);
      const at = Date.parse(String(interaction.recorded_at));
      return {
        method: String(request.method ?? "post").toUpperCase(),
        url: String(request.uri ?? ""),
        requestHeaders: headersOf(request.headers),
        request: requestBody(request.body),
        status: statusOf(response.status),
        headers,
        body: answerText(() => response.body, headers["content-encoding"]),
        ...(!Number.isNaN(at) && { at }),
      };
    }),
};

/** Ruby writes the code beside its words, R the code alone. */
function statusOf(status: unknown): number {
  const { code, status_code } = fieldsOf(status);
  return Number(code ?? status_code ?? status);
}
