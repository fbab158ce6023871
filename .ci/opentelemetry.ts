// What of OpenTelemetry spans need, for who has registered something and no package: Deno itself does.
export { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
