import { matchers } from "../../lib/testing/index.ts";

/** What a runner makes of a matcher: whether it holds, and its words. */
export function matched(name: keyof typeof matchers, subject: unknown, ...args: unknown[]) {
  const matcher = matchers[name] as (this: object, subject: unknown, ...args: unknown[]) => {
    pass: boolean;
    message: () => string;
  };
  const { pass, message } = matcher.call({}, subject, ...args);
  return { pass, says: message() };
}
