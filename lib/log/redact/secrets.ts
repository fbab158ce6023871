import { Buffer } from "node:buffer";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { quietly } from "../../core/json.ts";

/** Shorter values are words that may mean something else in a text. */
const LEAST = 8;

/** Values that everyone uses in place of a secret. */
const KNOWN_TO_ALL =
  /^(?:password\d?|postgres(?:ql)?|minioadmin|rabbitmq|(?:test|example|dummy|fake)[-_ ]?(?:key|token|secret|password)?|disabled|required|optional|undefined)$/i;

/** The values of variables with a secret's name, with that name; and the passwords in addresses. */
export function secretsOf(
  variables: Readonly<Record<string, string | undefined>>,
  anyName = false,
): Map<string, string> {
  const found = new Map<string, string>();
  const add = (value: string, name: string) => {
    const namesake = /^[a-z]+$/i.test(value) && name.toLowerCase().includes(value.toLowerCase());
    if (value.length >= LEAST && !namesake && !KNOWN_TO_ALL.test(value) && !isStandIn(value)) found.set(value, name);
  };
  for (const [name, given = ""] of Object.entries(variables)) {
    const value = given.trim();
    const isDirectory = /pwd$/i.test(name) && /^(?:[~/.]|\w:)/.test(value);
    if ((isSecretName(name) && !isDirectory) || (anyName && looksRandom(value))) add(value, name);
    for (const [, password] of value.matchAll(/:\/\/[^\s/:@]*:([^\s/@]+)@/g)) add(password!, name);
  }
  return found;
}

const SECRET_FILE =
  /^(?:\.env(?:\.(?!example|sample|template|dist).*)?|.*\.env|\.(?:npmrc|netrc|pypirc|pgpass)|credentials(?:\..*)?|.*secrets?\.(?:json|ya?ml|toml|ini))$/i;

/** Whether a file's name says that it holds credentials. */
export function isSecretFile(name: string): boolean {
  return SECRET_FILE.test(name);
}

/** The values that a file such as `.env` assigns, with their names. */
export function secretsIn(text: string): Map<string, string> {
  const pairs = [
    ...text.matchAll(
      /^[ \t]*(?:export\s+)?["']?([\w./:-]*?[\w-]+)["']?[ \t]*[=:][ \t]*(["']?)(.*?)\2[ \t]*,?[ \t]*\r?$/gm,
    ),
  ];
  return secretsOf(Object.fromEntries(pairs.map(([, name, , value]) => [name!, value!])), true);
}

/** The secrets that files of a folder such as `.env` hold; its subfolders are not read. */
export function secretsOfFolder(folder: string): Map<string, string> {
  const found = new Map<string, string>();
  // A folder that is not there has no secrets, and what cannot be read here cannot be read by a tool either.
  for (const entry of quietly(() => readdirSync(folder, { withFileTypes: true })) ?? []) {
    if (!entry.isFile() || !isSecretFile(entry.name)) continue;
    const path = join(folder, entry.name);
    const text = quietly(() => statSync(path).size > MOST_BYTES ? "" : readFileSync(path, "utf8"));
    for (const [value, name] of secretsIn(text ?? "")) found.set(value, name);
  }
  return found;
}

const MOST_BYTES = 256 * 1024;

/** How a value may be written elsewhere: inside JSON, also one inside another, in an address, in base64 and in hex. */
export function encodedForms(value: string): string[] {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
  return [inJson(value), inJson(inJson(value)), ...inAddress(value), ...inBase64(value), ...inHex(value)];
}

/** Programs do not agree on what to escape in an address, and how. */
function inAddress(value: string): string[] {
  const loose = encodeURIComponent(value.toWellFormed());
  const strict = loose.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return [loose, strict].flatMap((form) => [form, form.replaceAll("%2F", "/"), form.replaceAll("%20", "+")])
    .flatMap((form) => [form, form.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())]);
}

/** Only the digits that are the same whatever stands before and after the value. */
function inBase64(value: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
    const digits = bytes.toString("base64").slice(Math.ceil(before * 8 / 6), Math.floor(bytes.length * 8 / 6));
    return digits.length < LEAST ? [] : [digits, digits.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

function inHex(value: string): string[] {
  const digits = Buffer.from(value).toString("hex");
  return [digits, digits.toUpperCase()];
}

/**
 * What counts as a secret in a text, and there is no other way to be one: a value with a secret's name (`password: …`,
 * `--token …`, a header, an address with a password), a private key, a long word that looks random, or a known value as above.
 */

/** What was found. "environment" is a value of a variable or of a file such as `.env`. */
export type SecretKind = "environment" | "key" | "cookie" | "organisation";

export interface SecretPattern {
  /** @default "key" */
  readonly kind?: SecretKind;
  /** What it looks like, for reports. */
  readonly name: string;
  /** A quick test: texts that fail it are not searched. */
  readonly quick?: RegExp;
  /** What the group `before` matches is not part of the secret. */
  readonly find: RegExp;
  /** Whether a match is a secret. @default it is */
  readonly accepts?: (found: string) => boolean;
  /** The part that identifies it, however it is written. @default all of it */
  readonly core?: (found: string) => string;
}

export const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/** Words that end a secret's name; a name that ends in any other `key` counts only if its value looks random. */
const SECRET_WORD =
  "(?:pass(?:word|wd|phrase)?|pwd|secret|(?<!page[-_ ]?|sync[-_ ]?|next[-_ ]?|ation[-_ ]?|of[-_ ]?)token|credentials?|auth|(?:api|secret|access|private|signing|encryption|auth)[-_ ]?key)\\d*";

/** Between a name and its value: `: = => :=`, quotes also as JSON inside JSON escapes them, or the end of an XML tag. */
const IS = String.raw`(?:\\*["'])?\s*(?::=|=>|[:=])\s*\\*["']?`;
const VALUE = String.raw`[^\s"'${"`"}\\,;<>(){}\[\]|&@]{8,}`;

const NAMED_SECRET = /pass|pwd|secret|token|credential|auth|[-_ ]key/i;

export const SECRET_PATTERNS: readonly SecretPattern[] = [
  {
    name: "private key",
    quick: /PRIVATE KEY/,
    find: /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)/,
    // Code that reads keys has their first line without a key after it.
    accepts: (found) => /[A-Za-z0-9+/]{24}/.test(found.slice(0, 400)),
    // Its lines may be numbered, or be one line of JSON.
    core: (found) => /[A-Za-z0-9+/]{40,}/.exec(found.replaceAll(/\\+[nr]/g, "\n"))?.[0] ?? found,
  },
  {
    name: "private key in base64",
    quick: /LS0tLS1CRUdJTi/,
    find: /LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,}={0,2}/,
    accepts: (found) => atob(found.slice(0, 80)).includes("PRIVATE KEY"),
  },
  {
    name: "authorization header",
    quick: /authorization/i,
    find: new RegExp(`(?<before>authorization${IS}\\w{1,20} )[\\w.~+/=-]{8,}`, "i"),
    accepts: (found) => isLiteral(found, true),
  },
  {
    name: "bearer token",
    quick: /bearer /i,
    find: /(?<before>bearer )[\w.~+/=-]{8,}/i,
    accepts: isLiteral,
  },
  {
    name: "password of an address or user",
    quick: /:\/\/[^\s/@]{6,}@|-u|--user/,
    find:
      /(?<before>:\/\/[^\s/:@"']{0,100}:)[^\s/@"'{}$]{6,}(?=@)|(?<=:\/\/)[\w-]{20,}(?=@)|(?<=\s(?:-u|--user)[ =]["']?[^\s:"'/]{1,100}:)[^\s"'$@]{6,}/,
    accepts: (found) => !isStandIn(found) && !/^(?:pass\w*|secret)$/i.test(found),
  },
  {
    name: "value with a secret's name",
    quick: NAMED_SECRET,
    find: new RegExp(
      `(?<before>${SECRET_WORD}${IS}|--[\\w-]{0,64}${SECRET_WORD}[ =]["']?|<\\w{0,40}${SECRET_WORD}>|\\blogin \\S{1,100} password )${VALUE}`,
      "i",
    ),
    accepts: isLiteral,
  },
  {
    name: "password on a command line",
    quick: /passwd|sshpass/,
    find: new RegExp(
      `(?<before>(?<![./-])\\b(?:\\w*passwd|sshpass)[ \\t](?:[^\\n|;&]{0,200}[ \\t])?(?:-p)?["']?)${VALUE}`,
    ),
    accepts: isLiteral,
  },
  {
    name: "word with a secret's name",
    quick: NAMED_SECRET,
    // A word of letters alone is a password only as a variable of a shell: elsewhere it is a type, a name or a label.
    find: new RegExp(`(?<before>(?:PASS(?:WORD|WD|PHRASE)?|PWD|SECRET|TOKEN)=["']?)${VALUE}`),
    accepts: (found) => isLiteral(found, true),
  },
  {
    name: "random value named key",
    quick: /key/i,
    find: new RegExp(`(?<before>key\\d*(?:${IS}|[ =]))[\\w+/=.~-]{16,}`, "i"),
    accepts: (found) => looksRandom(found, 16) && !isStandIn(found),
  },
  {
    name: "key by its prefix",
    // Their letters are too few to look random.
    quick: /A[KS]IA|[sprk]k[-_]|key-|ops_eyJ|A3-/,
    find:
      /\b(?:A[KS]IA[0-9A-Z]{16}|(?:sk|pk|rk|key)[-_][0-9a-f]{32,}|ops_eyJ[\w-]{20,}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3})\b/,
    accepts: (found) => !isStandIn(found),
  },
  {
    kind: "cookie",
    name: "cookie",
    quick: /cookie/i,
    find: new RegExp(
      `(?<before>\\b(?:set-)?cookie${IS})` + "[\\w!#$%&*+.^`|~-]+=[^\\s;,\"'{}]{4,}(?:; ?[\\w-]+(?:=[^\\s;,\"'{}]*)?)*",
      "i",
    ),
  },
  {
    kind: "organisation",
    name: "organisation",
    quick: /organi/i,
    find: new RegExp(
      `(?<before>organi[sz]ation(?:'s)?(?:[-_ ]?(?:uu)?id)?\\\\*["']?\\s*(?:is|[:=])?\\s*\\\\*["'(]?)${UUID}`,
      "i",
    ),
  },
  {
    kind: "organisation",
    name: "workspace",
    quick: /wrkspc_|org_01|user_01/,
    find: /\b(?:wrkspc_|org_01|user_01)[A-Za-z0-9]{16,}/,
  },
  {
    name: "random word",
    // The digests of lock files (`sha512-…`, `h1:…` of go.sum) are public.
    find:
      /(?:(?<![\w+=\\-]|(?:sha\d{1,3}-|\bh1:)[\w+/=]*)|(?<=\\[nrtbf]))(?!sha\d{1,3}-[\w+/=]{27})[A-Za-z0-9][\w+=-]{19,255}(?![\w+=-])/,
    accepts: (found) => looksRandom(found) && !isPublic(found) && !isStandIn(found),
  },
];

function isSecretName(name: string): boolean {
  return NAMED.test(name) && !/(?:_PATH|_FILE|_DIR|_HOME|_SOCK|_SOCKET|_NAME|_TYPE|_MODE|_ID|_URL)$/i.test(name);
}
const NAMED = new RegExp(`${SECRET_WORD}$|[A-Z]KEY$|(?:^|_)(?:KEY|PAT|COOKIE|DSN|WEBHOOK)$`, "i");

export function isNamedSecret(key: string, value: string): boolean {
  if (!isSecretName(key) || !WHOLE_VALUE.test(value)) return false;
  return /key$/i.test(key) && !WHOLE_NAME.test(key) ? looksRandom(value, 16) : isLiteral(value);
}
const WHOLE_VALUE = new RegExp(`^${VALUE}$`);
const WHOLE_NAME = new RegExp(`${SECRET_WORD}$`, "i");

/** Whether a value with a secret's name is meant as it stands: not a placeholder, a reference, a type or a variable. */
function isLiteral(value: string, words = false): boolean {
  if (/^[$%<{*/]|\?\.|\$\{|\{\{|process\.env|os\.environ|^(?:env|self|this|req|args|config|options)\./.test(value)) {
    return false;
  }
  return !isStandIn(value) && (words ? !NAMES_ITSELF.test(value) : !isWords(value));
}
const NAMES_ITSELF =
  /pass|secret|token|pwd|^(?:string|required|optional|undefined|disabled|enabled|production|development)$/i;

/** What stands where a secret would be in a test, a template or a manual. */
function isStandIn(value: string): boolean {
  return STAND_IN.test(value) || ELIDED.test(value);
}
const STAND_IN =
  /(?<![A-Za-z])(?:your|dummy|fake|sample|placeholder|change[-_ ]?me|redacted|not[-_ ]?a[-_ ]?key)(?![A-Za-z])|example/i;
/** `sk-ant-...`, `ghp_xxxxxxxx`, `****1234`; a password that only has such a run in it is one. */
const ELIDED = /^[\w-]{0,12}(?:x{4,}|\*{3,}|\.{3,})[\w-]{0,4}$/i;

/** Names rather than values: `correct-horse`, `some.name`, `API_KEY_2`. */
function isWords(value: string): boolean {
  return value.split(/[._~:/-]/).every((part) => /^(?:[A-Za-z]*|\d*)$/.test(part)) ||
    /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(value) || /^[a-z]+(?:[A-Z][a-z]+)+\d?$/.test(value);
}

/** Ids that the model APIs give to messages, calls and files, and certificates in base64. */
function isPublic(word: string): boolean {
  return /^[a-z]{2,12}_01|^LS0tLS1CRUdJTi/.test(word) ||
    /^(?:call|chatcmpl|resp|msg|req|toolu|srvtoolu|fc|rs|ctc|file|batch|run)[-_]/.test(word);
}

/**
 * Whether a word, or a part between its marks, looks random: many different characters, of which 15 % are left
 * (40 % without a digit) when what names are made of is taken out. Hexadecimal words are digests.
 */
export function looksRandom(given: string, least = 20): boolean {
  const word = given.replace(UUIDS, "");
  if (word.length < least || !/^[\w+/=.~-]*$/.test(word) || isWords(word)) return false;
  const parts = word.split(/[^A-Za-z0-9]+/).filter((part) => !/^[A-Z]?[a-z]*$/.test(part));
  return [parts.join(""), ...parts].some(isRandom);
}

const UUIDS = new RegExp(UUID, "gi");

function isRandom(part: string): boolean {
  if (/^(?:[0-9a-f]+|[0-9A-F]+)$/.test(part)) return false;
  const signs = part.replace(/20\d{6}/g, ""); // a date
  const left = signs.replace(/[A-Z][a-z]{2,}|[a-z]{3,}|[A-Z]{4,}/g, "").length / signs.length;
  if (signs.length < 16 || left < (/\d/.test(signs) ? 0.15 : 0.4)) return false;
  return bitsOf(signs) >= (signs.length >= 24 ? 3.4 : 3.2);
}

function bitsOf(word: string): number {
  const counts = new Map<string, number>();
  for (const char of word) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / word.length) * Math.log2(count / word.length);
  return bits;
}
