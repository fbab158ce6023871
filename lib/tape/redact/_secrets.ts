import { Buffer } from "node:buffer";
import { isWords, looksRandom } from "./secret-patterns.ts";

/** Words of a name that says it is a secret; the first ones also where they are written together with others. */
const SECRET_NAME =
  /(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|SSHPASS)(?:_|$)|(?:^|_)(?:KEY|PASS|PAT|CREDENTIALS?|AUTH|COOKIE|PRIVATE|DSN|WEBHOOK)(?:_|$)/i;
/** Names of settings that only sound like secrets. */
const NOT_SECRET_NAME = /(?:_PATH|_FILE|_DIR|_HOME|_SOCK|_SOCKET|_NAME|_TYPE|_MODE)$/i;
/** Names of what looks like chance and is known to all. */
const PUBLIC_NAME = /_(?:SHA|COMMIT|MODEL|VERSION|TAG)$/i;
/** What stands where a secret would stand in a test, a template or a database of one's own machine. */
const NO_SECRET =
  /^(?:true|false|none|null|undefined|enabled|disabled|default|required|optional|always|never|pass(?:word|wd)1?|postgres(?:ql)?|minioadmin|rabbitmq|not[-_ ]?a[-_ ]?key|(?:test|dummy|fake|example|sample|placeholder|change-?me|x{3,}|your)[-_ ]?(?:key|token|secret|password)?|your[-_].*)$/i;

/**
 * The values of the environment that must not be shown: those whose variable is named like a secret, those that look
 * like one, and passwords inside addresses.
 */
export function environmentSecrets(env: Readonly<Record<string, string | undefined>>): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, given = ""] of Object.entries(env)) {
    const value = given.trim(); // a file of variables may have ended its lines in another way
    const long = value.length >= 8 || (value.length >= 6 && /\d/.test(value));
    if ((isSecretName(name, value) && long && !saysNothing(name, value)) || isRandom(name, value)) {
      found.set(value, name);
    }
    for (const [, password] of value.matchAll(/:\/\/[^\s/:@]*:([^\s/@]{6,})@/g)) {
      if (!saysNothing(name, password!)) found.set(password!, name);
    }
  }
  return found;
}

function isSecretName(name: string, value: string): boolean {
  if (/_PWD$/i.test(name)) return !/^(?:[~/.]|\w:)/.test(value); // it is a password, or a directory
  return SECRET_NAME.test(name) && !NOT_SECRET_NAME.test(name);
}

/** A word that everybody takes, or that its variable is named after: `POSTGRES_PASSWORD=postgres`. */
function saysNothing(name: string, value: string): boolean {
  return NO_SECRET.test(value) || (/^[a-z]+$/i.test(value) && name.toLowerCase().includes(value.toLowerCase()));
}

function isRandom(name: string, value: string): boolean {
  return looksRandom(value) && !isWords(value) && !PUBLIC_NAME.test(name);
}

/** How a value may stand elsewhere: inside a JSON text, also one inside another, in an address, and in base64. */
export function encodedForms(value: string): string[] {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
  return [inJson(value), inJson(inJson(value)), ...inAddress(value), ...inBase64(value)];
}

/** Who writes addresses does not agree on what has to be escaped, and how. */
function inAddress(value: string): string[] {
  const loose = encodeURIComponent(value.toWellFormed());
  const strict = loose.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return [loose, strict].flatMap((form) => [form, form.replaceAll("%2F", "/"), form.replaceAll("%20", "+")])
    .flatMap((form) => [form, form.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())]);
}

/** Only the digits that are the same whatever stands before and behind the value. */
function inBase64(value: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
    const digits = bytes.toString("base64").slice(Math.ceil(before * 8 / 6), Math.floor(bytes.length * 8 / 6));
    return digits.length < 12 ? [] : [digits, digits.replaceAll("+", "-").replaceAll("/", "_")];
  });
}
