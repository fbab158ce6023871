import { Buffer } from "node:buffer";
import { type Dirent, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isSecretName, isStandIn, looksRandom } from "./secrets.ts";

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
  let entries: Dirent[] = [];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    // A folder that is not there has no secrets.
  }
  for (const entry of entries) {
    if (!entry.isFile() || !isSecretFile(entry.name)) continue;
    const path = join(folder, entry.name);
    try {
      if (statSync(path).size > MOST_BYTES) continue;
      for (const [value, name] of secretsIn(readFileSync(path, "utf8"))) found.set(value, name);
    } catch {
      // What cannot be read here cannot be read by a tool either.
    }
  }
  return found;
}

const MOST_BYTES = 256 * 1024;

/** How a value may be written elsewhere: inside JSON, also one inside another, in an address, and in base64. */
export function encodedForms(value: string): string[] {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
  return [inJson(value), inJson(inJson(value)), ...inAddress(value), ...inBase64(value)];
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
    return digits.length < 12 ? [] : [digits, digits.replaceAll("+", "-").replaceAll("/", "_")];
  });
}
