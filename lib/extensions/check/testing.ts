export { conversationArbitrary } from "./arbitraries/conversation.ts";
export { eventArbitrary } from "./arbitraries/event.ts";
export { modelArbitrary } from "./arbitraries/models.ts";
export { BrokenLaw, checkHook, laws } from "./check-hook.ts";
export type { CheckReport } from "./check-report.ts";
export type { HookExample } from "./examples/example.ts";
export { askHook, runExamples, testExamples } from "./examples/run-examples.ts";
