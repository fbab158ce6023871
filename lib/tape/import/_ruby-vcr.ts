import { exchangeOf } from "./_written.ts";
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
      return exchangeOf({
        method: request.method,
        url: String(request.uri ?? ""),
        requestHeaders: request.headers,
        request: request.body,
        status: statusOf(response.status),
        headers: response.headers,
        body: () => response.body,
        at: interaction.recorded_at,
      });
    }),
};

/** Ruby writes the code beside its words, R the code alone. */
function statusOf(status: unknown): unknown {
  const { code, status_code } = fieldsOf(status);
  return code ?? status_code ?? status;
}
