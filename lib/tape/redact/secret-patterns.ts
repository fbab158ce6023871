import { Buffer } from "node:buffer";

/** What a text must not show, and how it is told in its place. */
export type SecretKind = "environment" | "key" | "cookie" | "organisation";

/** A secret of a known look. Texts without one of its anchors are not searched; without anchors, all are. */
interface SecretPattern {
  readonly kind: SecretKind;
  readonly name: string;
  readonly anchors: readonly string[];
  readonly find: RegExp;
  /** A quicker test, which no text passes over that has one, also where it is written as JSON. @default none */
  readonly quick?: RegExp;
  /** Whether what was found is one. @default it is */
  readonly accepts?: (found: string) => boolean;
  /** What tells one from another, however it is written. @default all of it */
  readonly core?: (found: string) => string;
}

export const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/** What stands between a name and its value, also inside of JSON inside of JSON. */
const IS = String.raw`\\*["']?\s*[:=]\s*\\*["']?`;

/** How tokens of one word begin; a long word comes behind the last mark. */
const TOKENS = [
  "gl(?:rt|dt|ptt|cbt|ft|soat)-", // GitLab
  "gloas-",
  "xapp-\\d-\\w+-\\d+-", // Slack
  "GOCSPX-", // Google
  "whsec_", // Stripe
  "pypi-",
  "do[opr]_v1_", // DigitalOcean
  "dp\\.(?:pt|st|ct)\\.", // Doppler
  "hvs\\.", // Vault
  "lin_api_", // Linear
  "ntn_", // Notion
  "shp(?:at|ca|pa|ss)_", // Shopify
  "sq0(?:atp|csp)-", // Square
  "dckr_[op]at_", // Docker
  "fm2_", // Fly
  "sbp_", // Supabase
  "pscale_[a-z]+_", // PlanetScale
  "glsa_", // Grafana
  "NRAK-", // New Relic
  "sntry[su]_", // Sentry
  "gsk_", // Groq
  "xai-",
  "pplx-", // Perplexity
  "r8_", // Replicate
  "tvly-", // Tavily
  "lsv2_[ps]t_", // LangSmith
  "nvapi-", // NVIDIA
  "csk-", // Cerebras
  "pcsk_", // Pinecone
  "jina_",
  "tgp_v1_", // Together
  "hvb\\.", // Vault
  "figd_", // Figma
  "PMAK-", // Postman
  "CFPAT-", // Contentful
  "nfp_", // Netlify
  "HRKU-", // Heroku
  "rubygems_",
  "CCIPAT_", // CircleCI
  "bku[ac]_", // Buildkite
  "sgp_", // Sourcegraph
  "phx_", // PostHog
].join("|");

/** How private keys and some tokens begin in base64. */
const BASE64_KEYS = /\b(?:LS0tLS1CRUdJTi|Z2hwX|Z2l0aHViX3BhdF|c2stYW50L|c2stcHJvai|eG94)[A-Za-z0-9+/]{20,}={0,2}/;

export const SECRET_PATTERNS: readonly SecretPattern[] = [
  // What has the whole look of a key is one also where other letters stand before it: `tok_sk-ant-api03-…`.
  key("anthropic", ["sk-ant-"], /\bsk-ant-[\w-]{16,}|sk-ant-[a-z]{2,8}\d\d-[\w-]{16,}/),
  // Parts of pages have such classes: sk-toggleable__label-arrow.
  notWords(key("openai", ["sk-"], /\bsk-(?!ant-)(?:proj-|svcacct-)?[\w-]{20,}/)),
  key("github", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], /\bgh[pousr]_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{36}/),
  key("github", ["github_pat_"], /\bgithub_pat_\w{22,}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}/),
  key("gitlab", ["glpat-"], /glpat-[\w-]{20,}/),
  key("slack", ["xox"], /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/),
  key(
    "webhook",
    ["hooks.slack.com/", "/api/webhooks/"],
    /(?<=hooks\.slack\.com\/services\/|\/webhooks\/\d{5,}\/)[\w/-]{20,}/,
  ),
  key("aws", ["AKIA", "ASIA"], /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/),
  {
    ...key("aws-secret", [], new RegExp(`(?<=(?:secret_?access_?key|session_?token)${IS})[\\w+/=]{40,}`, "i")),
    quick: new RegExp(`[:=]\\s*\\\\*["']?(?=[\\w+/=]{40})(?<=(?:access_?key|session_?token)${IS})`, "i"),
  },
  key("azure", ["AccountKey=", "AccessKey=", "sig="], /(?<=(?:Account|SharedAccess)Key=|[?&]sig=)[\w+/=%-]{30,}/),
  key("google", ["AIza", "ya29."], /\b(?:AIza[\w-]{35}|ya29\.[\w-]{20,})/),
  key("stripe", ["k_live_", "k_test_"], /\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}/),
  key("npm", ["npm_"], /\bnpm_[A-Za-z0-9]{36}\b/),
  key("npmrc", ["_authToken=", "_auth="], /(?<=\b_auth(?:Token)?=)[\w+/=.-]{16,}/),
  key("huggingface", ["hf_"], /\bhf_[A-Za-z0-9]{30,}/),
  key("sendgrid", ["SG."], /\bSG\.[\w-]{16,}\.[\w-]{16,}/),
  key("terraform", [".atlasv1."], /\b\w{14}\.atlasv1\.[\w-]{60,}/),
  key("microsoft", ["Q~"], /\b[\w.~-]{3}\dQ~[\w.~-]{31,34}(?![\w.~-])/),
  key("telegram", [":AA"], /\b\d{8,10}:AA[\w-]{33}\b/),
  key("atlassian", ["ATATT"], /\bATATT3[\w=-]{60,}/),
  key("age", ["AGE-SECRET-KEY-1"], /\bAGE-SECRET-KEY-1[0-9A-Z]{50,}/),
  key("hexadecimal", ["dapi", "key-", "SK", "sk_"], /\b(?:(?:dapi|key-|SK)[0-9a-f]{32}|sk_[0-9a-f]{48})\b/),
  {
    ...notWords(key("token", [], new RegExp(`\\b(?:${TOKENS})[\\w-]{20,}`))),
    quick: new RegExp(`[-_.](?=[\\w-]{20})(?<=${TOKENS})`),
  },
  key("jwt", ["eyJ"], /eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/),
  {
    kind: "key",
    name: "private-key",
    anchors: ["PRIVATE KEY"],
    find: /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)/,
    // Code that reads keys has their first line, and no key behind it.
    accepts: (found) => /[A-Za-z0-9+/]{24}/.test(found.slice(0, 400)),
    // Its lines may have numbers before them, or be one line of JSON.
    core: (found) => /[A-Za-z0-9+/]{40,}/.exec(found.replaceAll(/\\+[nr]/g, "\n"))?.[0] ?? found,
  },
  {
    // As clusters keep them: `client-key-data: LS0tLS1…`.
    ...key("base64", ["LS0tLS1CRUdJTi", "Z2hwX", "Z2l0aHViX3BhdF", "c2stYW50L", "c2stcHJvai", "eG94"], BASE64_KEYS),
    accepts: (found) =>
      /^(?:ghp_|github_pat_|sk-ant-|sk-proj-|xox[abeoprs]-)[\w-]{16,}\s*$|PRIVATE KEY/.test(
        Buffer.from(found, "base64").toString("latin1"),
      ),
  },
  {
    ...key("bearer", ["earer ", "BEARER "], /(?<=\b(?:[Bb]earer|BEARER) )[\w.~+/=-]{16,}/),
    accepts: (found) => !isProse(found),
  },
  key("basic", ["asic ", "BASIC "], new RegExp(`(?<=\\bauthorization${IS}basic )[\\w+/=]{8,}`, "i")),
  key("docker", ['"auth'], /(?<=\\*"auth\\*"\s*:\s*\\*")[\w+/]{20,}={0,2}/),
  {
    ...key("api-key", ["pi-key", "pi-Key", "PI-KEY", "PI-Key"], new RegExp(`(?<=x-api-key${IS})[\\w.~+/-]{12,}`, "i")),
    accepts: (found) => !isProse(found),
  },
  {
    ...key("url-password", ["://"], /(?<=:\/\/[^\s/:@"']*:)[^\s/@"'{}]{6,}(?=@)|(?<=:\/\/)[\w-]{20,}(?=@)/),
    quick: /:\/\/[^\s/@"']{6,}@/,
    accepts: (found) => !/^(?:pass(?:word|wd|phrase)|secret|redacted|\*+|x+)$/i.test(found),
  },
  key(
    "password",
    [" password ", "curl "],
    /(?<=\blogin \S+ password |\bcurl [^\n|]*?(?:-u|--user)[ =]["']?[^\s:"']+:)[^\s"'$@]{6,}/,
  ),
  {
    kind: "key",
    name: "assigned",
    anchors: ["oken", "assword", "ASSWORD", "ecret", "ECRET", "OKEN", "pi_key", "PI_KEY", "piKey", "pi-key"],
    find: new RegExp(
      `(?<=(?<!:)(?:password|secret|(?<!page_?|sync_?|next_?|ation_?)token|api[_-]?key)${IS})[\\w+/=.~-]{20,}`,
      "i",
    ),
    quick: new RegExp(
      `[:=]\\s*\\\\*["']?(?=[\\w+/=.~-]{20})(?<=(?:password|secret|token|api[_-]?key)${IS})`,
      "i",
    ),
    accepts: (found) => looksRandom(found) && !isWords(found),
  },
  {
    kind: "cookie",
    name: "cookie",
    anchors: ["ookie", "OOKIE"],
    find: new RegExp(
      `(?<=\\b(?:set-)?cookie${IS})` + "[\\w!#$%&*+.^`|~-]+=[^\\s;,\"'{}]{4,}(?:; ?[\\w-]+(?:=[^\\s;,\"'{}]*)?)*",
      "i",
    ),
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
  return { kind: "key", name, anchors, find, accepts: (found) => !isStandIn(found) };
}

function notWords(secret: SecretPattern): SecretPattern {
  return { ...secret, accepts: (found) => !isWords(found) };
}

/** What is shown in place of a secret where there is none. */
function isStandIn(value: string): boolean {
  return /x{6,}|example|your[-_]/i.test(value);
}

/** What stands in prose where a secret could: `the bearer acknowledges`, `Bearer YOUR_ACCESS_TOKEN`. */
function isProse(value: string): boolean {
  return /^(?:[a-z]+(?:[._-][a-z]+)*|[A-Z]+(?:[._-][A-Z]+)*)\.?$/.test(value) || isStandIn(value);
}

/** Names and placeholders: `process.env.API_KEY_2`, `your-key-goes-here`. */
export function isWords(value: string): boolean {
  const words = value.split(/[._~-]/).every((part) => /^(?:[A-Za-z]*|\d*)$/.test(part));
  return words || /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(value) ||
    /example|your|dummy|fake|sample|placeholder|x{4}/i.test(value);
}

/** Long, of one piece, mixed, and as many different characters as chance would give. */
export function looksRandom(value: string, least = 24): boolean {
  if (value.length < least || !/^[\w+/=.~-]*$/.test(value) || /^[./~]/.test(value) || /\/.*\/.*\//.test(value)) {
    return false;
  }
  if (!/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  const counts = new Map<string, number>();
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits >= 3.2;
}
