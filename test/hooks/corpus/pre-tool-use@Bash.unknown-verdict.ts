/** No such verdict: it is a failure, and not a refusal. */
export default ({ input }: { input: { command?: unknown } }) =>
  String(input.command).includes("rm") ? { action: "reject", reason: "Keep it" } : undefined;
