import type { PreToolUseHook } from "crochet";
// never: keys in files

/** What secrets look like. The agent gets only a name and where such a thing belongs. */
const SECRETS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["a private key", /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/],
  ["an AWS access key", /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ["an Anthropic key", /\bsk-ant-[\w-]{20,}/],
  ["an OpenAI key", /\bsk-[\w-]{32,}/],
  ["a GitHub token", /\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_\w{50,}/],
  ["a GitLab token", /\bglpat-[\w-]{20,}/],
  ["a Slack token", /\bxox[abprs]-[\w-]{10,}/],
  ["a Google API key", /\bAIza[\w-]{35}\b/],
  ["a Stripe key", /\b[sr]k_live_[A-Za-z0-9]{20,}/],
  ["an npm token", /\bnpm_[A-Za-z0-9]{36}\b/],
  ["a password in a URL", /[a-z]:\/\/[^\s/:@"'$<{]+:[^\s/:@"'$<{]{3,}@\w/i],
];

const noSecrets: PreToolUseHook = ({ input }) => {
  const texts = textsIn(input);
  const found = SECRETS.find(([, pattern]) => texts.some((text) => pattern.test(text)));
  if (!found) return;
  return {
    action: "deny",
    reason: `This would write ${found[0]} into a file. Read it from the environment, and put a placeholder here.`,
  };
};
export default noSecrets;

/** Every text of the call as it is, but what is taken out. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return Object.entries(value ?? {}).flatMap(([key, part]) => key === "old_string" ? [] : textsIn(part));
}

export const config = { also: ["pre-tool-use@MultiEdit"] };
export const examples = [
  { event: { tool_input: { new_string: "key = AKIAIOSFODNN7EXAMPLE" } }, expect: { action: "deny", reason: /AWS/ } },
  { event: { tool_input: { new_string: "key = process.env.AWS_KEY" } }, expect: "continue" },
];
