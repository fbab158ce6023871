import { test as plain, type TestContext } from "node:test";

/** What npm, Bun and Deno say where a registry does not answer, or stops to. */
const UNREACHED =
  /ECONN(?:RESET|REFUSED|ABORTED)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ENOTCACHED|ERR_SOCKET_TIMEOUT|socket hang up|Connection(?:Refused|Reset|Closed)|Unable to connect|timed out/i;

/** Whether a program failed as the registry could not be reached; a failed assertion never says so. */
export function isUnreached(error: unknown): boolean {
  const { status, code, stdout = "", stderr = "" } = (error ?? {}) as { [about: string]: unknown };
  return status !== undefined && UNREACHED.test(`${code} ${stdout} ${stderr}`);
}

type Body = (t: TestContext) => unknown;

/** A test that asks a registry: skipped, and named, where that cannot be reached. */
export function test(name: string, ...given: [Body] | [{ skip?: string | false; timeout?: number }, Body]): void {
  const [options, body] = given.length === 1 ? [{}, given[0]] : given;
  plain(name, options, asking(body));
}

/** The body of such a test. */
export function asking(body: Body): (t: TestContext) => Promise<void> {
  return async (t) => {
    try {
      await body(t);
    } catch (error) {
      if (!isUnreached(error)) throw error;
      t.skip("the registry cannot be reached");
    }
  };
}
