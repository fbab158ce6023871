// What of the SDK a model call needs.
export { BaseAnthropic } from "@anthropic-ai/sdk/client";
