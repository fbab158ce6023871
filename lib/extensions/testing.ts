/** What extensions add to `crochet/testing`, a line for each. */
export * from "./attack/testing.ts";
export * from "./check/testing.ts";
export * from "./faults/testing.ts";
export * from "./eval/testing.ts";
export * from "./import/testing.ts";
export * from "./tape/testing.ts";
