/** What a text must not show, and how it is told in its place. */
export type SecretKind = "environment" | "key" | "cookie" | "organisation";

/** A secret of a known look. Texts without one of its anchors are not searched. */
export interface SecretPattern {
  readonly kind: SecretKind;
  readonly name: string;
  readonly anchors: readonly string[];
  readonly find: RegExp;
}

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

export const SECRET_PATTERNS: readonly SecretPattern[] = [
  key("anthropic", ["sk-ant-"], /\bsk-ant-[\w-]{16,}/),
  key("openai", ["sk-"], /\bsk-(?!ant-)(?:proj-|svcacct-)?[\w-]{20,}/),
  key("github", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], /\bgh[pousr]_[A-Za-z0-9]{30,}/),
  key("github", ["github_pat_"], /\bgithub_pat_\w{22,}/),
  key("gitlab", ["glpat-"], /\bglpat-[\w-]{20,}/),
  key("slack", ["xox"], /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/),
  key("aws", ["AKIA", "ASIA"], /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/),
  key("google", ["AIza", "ya29."], /\b(?:AIza[\w-]{35}|ya29\.[\w-]{20,})/),
  key("stripe", ["k_live_", "k_test_"], /\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}/),
  key("npm", ["npm_"], /\bnpm_[A-Za-z0-9]{36}\b/),
  key("huggingface", ["hf_"], /\bhf_[A-Za-z0-9]{30,}/),
  key("sendgrid", ["SG."], /\bSG\.[\w-]{16,}\.[\w-]{16,}/),
  key("jwt", ["eyJ"], /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/),
  key(
    "private-key",
    ["PRIVATE KEY-----"],
    /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/,
  ),
  key("bearer", ["Bearer ", "bearer "], /(?<=\b[Bb]earer )[\w.~+/=-]{16,}/),
  key("basic", ["Basic ", "basic "], /(?<=\b[Aa]uthorization\\*["']?\s*[:=]\s*\\*["']?[Bb]asic )[\w+/=]{8,}/),
  key("api-key", ["api-key", "Api-Key"], /(?<=[Xx]-[Aa]pi-[Kk]ey\\*["']?\s*[:=]\s*\\*["']?)[\w.~+/-]{12,}/),
  key("url-password", ["://"], /(?<=:\/\/[^\s/:@"']+:)[^\s/@"'{}]{6,}(?=@)/),
  {
    kind: "cookie",
    name: "cookie",
    anchors: ["ookie"],
    find:
      /(?<=\b(?:[Ss]et-)?[Cc]ookie\\*["']?\s*[:=]\s*\\*["']?)[\w!#$%&*+.^`|~-]+=[^\s;,"'{}]{4,}(?:; ?[\w-]+(?:=[^\s;,"'{}]*)?)*/,
  },
  {
    kind: "organisation",
    name: "organisation",
    anchors: ["rgani", "ORGANI"],
    find: new RegExp(
      `(?<=organi[sz]ation(?:'s)?(?:[-_ ]?(?:uu)?id)?\\\\*["']?\\s*(?:is|[:=])?\\s*\\\\*["'(]?)${UUID}`,
      "i",
    ),
  },
  {
    kind: "organisation",
    name: "workspace",
    anchors: ["wrkspc_", "org_01", "user_01"],
    find: /\b(?:wrkspc_|org_01|user_01)[A-Za-z0-9]{16,}/,
  },
];

function key(name: string, anchors: readonly string[], find: RegExp): SecretPattern {
  return { kind: "key", name, anchors, find };
}

const SECRET_NAME =
  /(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|CREDENTIALS?|AUTH|COOKIE|PRIVATE|DSN|WEBHOOK)(?:_|$)/i;
/** Names of settings that only sound like secrets. */
const NOT_SECRET_NAME = /(?:_PATH|_FILE|_DIR|_HOME|_SOCK|_SOCKET|_NAME|_TYPE|_MODE)$/i;
/** What stands where a secret would stand in a test or a template. */
const NO_SECRET =
  /^(?:true|false|none|null|undefined|enabled|disabled|default|required|optional|always|never|not[-_ ]?a[-_ ]?key|(?:test|dummy|fake|example|sample|placeholder|change-?me|x{3,}|your)[-_ ]?(?:key|token|secret|password)?|your[-_].*)$/i;

/**
 * The values of the environment that must not be shown: those whose variable is named like a secret, those that look
 * like one, and passwords inside addresses.
 */
export function environmentSecrets(env: Readonly<Record<string, string | undefined>>): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, value = ""] of Object.entries(env)) {
    const named = SECRET_NAME.test(name) && !NOT_SECRET_NAME.test(name);
    const long = value.length >= 8 || (value.length >= 6 && /\d/.test(value));
    if ((named && long && !NO_SECRET.test(value)) || looksRandom(value)) found.set(value, name);
    for (const [, password] of value.matchAll(/:\/\/[^\s/:@]+:([^\s/@]{6,})@/g)) found.set(password!, name);
  }
  return found;
}

/** Long, of one piece, mixed, and as many different characters as chance would give. */
function looksRandom(value: string): boolean {
  if (!/^[\w+/=.~-]{24,}$/.test(value) || /^[./~]/.test(value) || /\/.*\/.*\//.test(value)) return false;
  if (!/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  const counts = new Map<string, number>();
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits >= 3.2;
}
