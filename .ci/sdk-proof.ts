// What of the SDK the proof of an import needs: it reads answers whole.
export { BaseAnthropic } from "@anthropic-ai/sdk/client";
export { Messages } from "@anthropic-ai/sdk/resources/beta/messages";
