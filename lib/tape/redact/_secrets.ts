import { Buffer } from "node:buffer";
import { looksRandom } from "./secret-patterns.ts";

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

/**
 * How a value may stand elsewhere: inside a JSON text, in an address, and in base64, of which only what is the same
 * whatever follows it: a line break at its end changes the last digits.
 */
export function encodedForms(value: string): string[] {
  const base64 = Buffer.from(value).toString("base64").slice(0, 4 * Math.floor(Buffer.byteLength(value) / 3));
  const forms = [JSON.stringify(value).slice(1, -1), inAddress(value)];
  return base64.length >= 12 ? [...forms, base64] : forms;
}

function inAddress(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}
