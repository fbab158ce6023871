import { homedir } from "node:os";
import { sha256 } from "../../runtime/sha256.ts";
import {
  encodedForms,
  isNamedSecret,
  looksRandom,
  SECRET_PATTERNS,
  type SecretKind,
  secretsOf,
  secretsOfFolder,
  UUID,
} from "./secrets.ts";

interface RedactorOptions {
  /** Variables whose values are secret if their name says so. @default the process's environment */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A folder whose files such as `.env` hold secrets. @default the working directory, with the default `env` */
  readonly root?: string;
  /** Gives a value the same placeholder each time, which does not reveal it. */
  readonly seed?: string;
  /** What is searched for. @default everything */
  readonly kinds?: readonly SecretKind[];
  /** Whether a secret that only the words before it give away is known by itself from then on. @default false */
  readonly learns?: boolean;
  /** Placeholders of a tape: ids and keys are recognised by them, before any words give them away. */
  readonly placeholders?: ReadonlySet<string>;
}

/** One secret that was found: never the secret itself. */
export interface Finding {
  readonly kind: SecretKind;
  /** The variable it is the value of, or what it looks like. */
  readonly name: string;
  readonly path: string;
}

/** Takes secrets out of texts and values. Equal secrets get equal placeholders; a second time nothing changes. */
export interface Redactor {
  /** @param key the key of the object that the text is a value of: it may have a secret's name */
  text(text: string, key?: string): string;
  /** All texts of a value, but those that are opaque; the value itself where nothing was found. */
  value<T>(value: T): T;
  find(value: unknown, path?: string): Finding[];
  /** Whether a text may hold a secret; quick, for long texts. */
  suspects(text: string): boolean;
  /** Adds a value that must not be shown. */
  learn(kind: SecretKind, name: string, value: string): void;
}

/** What stands for a secret: `{SECRET:GITHUB_TOKEN}`, `{KEY:1f2e3d}`, `{COOKIE:…}`, `{ORGANISATION:…}`. */
const PLACEHOLDER = String
  .raw`\{(?:SECRET:[^{}\s"'=,;]+|(?:KEY|COOKIE|ORGANISATION):[0-9a-f]{6})\}`;
const IS_PLACEHOLDER = new RegExp(`^${PLACEHOLDER}$`);

/** The different placeholders in a text: one for each secret that was taken out of it. */
export function placeholdersIn(text: string): Set<string> {
  return new Set(text.match(new RegExp(PLACEHOLDER, "g")));
}

export function redactor(options: RedactorOptions = {}): Redactor {
  const seed = options.seed ?? PROCESS_SEED;
  const literals = new Map<string, Omit<Finding, "path">>();
  const add = (value: string, literal: Omit<Finding, "path">) => {
    for (const form of [value, ...encodedForms(value)]) literals.set(form, literal);
  };
  const wanted = (kind: SecretKind) => options.kinds?.includes(kind) ?? true;
  if (wanted("environment")) {
    const root = options.root ?? (options.env ? undefined : process.cwd());
    const known = [secretsOf(options.env ?? process.env), root === undefined ? new Map() : secretsOfFolder(root)];
    for (const [value, name] of known.flatMap((map) => [...map])) add(value, { kind: "environment", name });
  }
  const patterns = PATTERNS.filter(({ kind }) => wanted(kind));
  let finder: { readonly of: number; readonly pattern: RegExp } | undefined;

  const shortOf = (value: string) => sha256().update(`${seed}\n${value}`).digest("hex").slice(0, 6);
  const mark = (kind: SecretKind, name: string, value: string) => {
    return kind === "environment" ? `{SECRET:${name}}` : `{${kind.toUpperCase()}:${shortOf(value)}}`;
  };

  const learn = (kind: SecretKind, name: string, value: string) => {
    if (value.length < 6 || literals.has(value) || !wanted(kind)) return;
    add(value, { kind, name });
  };

  /** The keys of a tape, by the digits of their placeholders. */
  const keys = new Set([...options.placeholders ?? []].flatMap((one) => /^\{KEY:(\w+)\}$/.exec(one)?.[1] ?? []));

  /** A conversation is asked for again and again, and grows: each word is looked at once. */
  const looked = new Set<string>();
  const learnKeys = (text: string) => {
    for (const word of text.match(/[\w+/=.~-]{16,}/g) ?? []) {
      if (word.length > MOST_AROUND || looked.has(word)) continue;
      looked.add(word);
      for (const part of randomParts(word)) {
        if (keys.has(shortOf(part))) literals.set(part, { kind: "key", name: "key" });
      }
    }
  };

  /** One pass; `found` gets each secret's kind and name. */
  const pass = (given: string, found: (kind: SecretKind, name: string) => void): string => {
    let text = given;
    if (keys.size > 0) learnKeys(given);
    if ([...literals.keys()].some((literal) => given.includes(literal))) {
      if (finder?.of !== literals.size) finder = { of: literals.size, pattern: oneOf(literals) };
      text = text.replace(finder.pattern, (whole) => {
        const literal = literals.get(whole);
        if (!literal) return whole;
        found(literal.kind, literal.name);
        return mark(literal.kind, literal.name, whole);
      });
    }
    if (options.placeholders?.size) {
      text = text.replace(ID, (id) => {
        const placeholder = mark("organisation", "organisation", id);
        return options.placeholders!.has(placeholder) ? placeholder : id;
      });
    }
    for (const { pattern, kind, name, quick, accepts, core = String } of patterns) {
      if (quick?.test(text) === false) continue;
      text = text.replace(pattern, (whole, ...groups) => {
        const before = beforeOf(groups);
        const secret = whole.slice(before.length);
        if (IS_PLACEHOLDER.test(secret) || accepts?.(secret) === false) return whole;
        found(kind, name);
        if (options.learns && (kind === "organisation" || looksRandom(secret, LEAST_RANDOM))) {
          literals.set(secret, { kind, name });
        }
        return before + mark(kind, name, core(secret));
      });
    }
    return text;
  };

  const redactText = (text: string, found: (kind: SecretKind, name: string) => void = () => {}): string => {
    for (let last = text;;) {
      const next = pass(last, found);
      if (next === last) return next;
      last = next;
    }
  };

  /** The text of a value: secret by its key, or by what it says. */
  const redactPart = (text: string, key: string, found: (kind: SecretKind, name: string) => void): string => {
    const clean = redactText(text, found);
    if (clean !== text || !wanted("key") || !isNamedSecret(key, text)) return clean;
    found("key", "value with a secret's name");
    return mark("key", "", text);
  };

  return {
    text: (text, key = "") => redactPart(text, key, () => {}),
    value: (value) => mapTexts(value, (text, _, key) => redactPart(text, key, () => {})),
    find(value, path = "") {
      const found: Finding[] = [];
      const note = (at: string) => (kind: SecretKind, name: string) => void found.push({ kind, name, path: at });
      mapTexts(value, (text, at, key) => redactPart(text, key, note(at)), path);
      // A key of an object may be a secret itself.
      return found.map((one) => ({ ...one, path: redactText(one.path) }));
    },
    suspects: (text) =>
      [...literals.keys()].some((literal) => text.includes(literal)) ||
      patterns.some(({ quick, loose, accepts }) =>
        quick?.test(text) !== false &&
        [...text.matchAll(loose)].some((found) => accepts?.(found[0].slice(found.groups?.before?.length ?? 0)) ?? true)
      ),
    learn,
  };
}

/** The group `before` of a match, from what a replacer is given after the match. */
function beforeOf(given: readonly unknown[]): string {
  const groups = given.at(-1);
  return typeof groups === "object" ? (groups as { before?: string }).before ?? "" : "";
}

const ID = new RegExp(UUID, "gi");

/** What is shorter may be a word that stands elsewhere and means something else there. */
const LEAST_RANDOM = 16;
/** If a key is known by its placeholder, all parts of a longer word, or with more marks, would be too many. */
const [MOST_AROUND, MOST_MARKS] = [1024, 4];

/** Every part of a word that may be a key by itself: marks may belong to it or to what stands around it. */
function* randomParts(word: string): Generator<string> {
  const edges = [...word.matchAll(/(?<=\w)(?!\w)|(?<!\w)(?=\w)|^|$/g)].map(({ index }) => index);
  for (const [i, from] of edges.entries()) {
    for (const to of edges.slice(i + 1, i + 2 + 2 * MOST_MARKS)) {
      const part = word.slice(from, to);
      if (looksRandom(part, LEAST_RANDOM)) yield part;
    }
  }
}

const PROCESS_SEED = crypto.randomUUID();

/** In JSON that is a text, as a tool may give it, the letter of an escape is not part of the word after it. */
const WORD_EDGE = String.raw`(?:\b|(?<=\\[nrtbf]))`;

const PATTERNS = SECRET_PATTERNS.map(({ kind = "key", ...secret }) => ({
  kind,
  ...secret,
  pattern: new RegExp(`${PLACEHOLDER}|${secret.find.source.replaceAll("\\b", WORD_EDGE)}`, `g${secret.find.flags}`),
  /** As it may stand in JSON, where a line break before it is written with a letter. */
  loose: new RegExp(secret.find.source.replaceAll("\\b", ""), `g${secret.find.flags}`),
}));

let everyday: Redactor | undefined;

/**
 * A value without secrets: values of the environment and of `.env`, values with a secret's name, random words, cookies,
 * organisation ids and the home directory become placeholders. What is opaque (signatures, images) stays as it is.
 *
 * @example
 * ```ts
 * import { redact } from "crochet/testing";
 *
 * console.log(redact({ command: "curl -H 'Authorization: Bearer 0123456789abcdef0123'" }));
 * ```
 */
export function redact<T>(value: T): T {
  const home = homedir().replace(/\/+$/, "");
  const clean = (everyday ??= redactor()).value(value);
  if (home.length < 4) return clean;
  const found = new RegExp(`(?:(?<![\\w.~/-])|(?<=://|\\\\[nrtbf]))${quoted(home)}(?![\\w-])`, "g");
  return mapTexts(clean, (text) => text.replace(found, "{HOME}"));
}

/** Finds one of some texts, the longest first, or a placeholder, in which nothing is looked for. */
function oneOf(literals: ReadonlyMap<string, unknown>): RegExp {
  const texts = [...literals.keys()].sort((a, b) => b.length - a.length);
  return new RegExp(`${PLACEHOLDER}|${texts.map(quoted).join("|")}`, "g");
}

function quoted(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** Fields of the API that only it can read: never searched. */
const OPAQUE = new Set(["signature", "encrypted_content", "encrypted_index", "encrypted_stdout"]);

/** Tools have fields named `data` too: those of the API are base64. */
function isOpaque(key: string, value: string): boolean {
  return OPAQUE.has(key) || (key === "data" && /^[A-Za-z0-9+/]*={0,2}$/.test(value));
}

/** A signature in pieces, as a stream or a line of a tape has it. */
export function isSignature(value: object): boolean {
  const { type, run } = value as { type?: unknown; run?: unknown };
  return type === "signature_delta" || run === "signature_delta";
}

/** Changes every text of a value, and its keys, but opaque ones. The value itself if nothing changes. */
export function mapTexts<T>(value: T, change: (text: string, path: string, key: string) => string, path = ""): T {
  return mapParts(
    value,
    (part, at, key) => {
      if (typeof part === "string") return isOpaque(key, part) ? part : change(part, at, key);
      return typeof part === "object" && part !== null && isSignature(part) ? part : undefined;
    },
    (key, at) => change(key, at, ""),
    path,
  );
}

/**
 * A value with some of its parts changed; the value itself if nothing changes. `change` gives what stands for a part, or
 * undefined to look into it; `name` gives what stands for a key.
 */
export function mapParts<T>(
  value: T,
  change: (part: unknown, path: string, key: string) => unknown,
  name: (key: string, path: string) => string = String,
  path = "",
  key = "",
): T {
  const instead = change(value, path, key);
  if (instead !== undefined) return instead as T;
  if (typeof value !== "object" || value === null) return value;
  const below = (part: string | number) => path === "" ? String(part) : `${path}.${part}`;
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined;
    for (let i = 0; i < value.length; i++) {
      const part = mapParts(value[i], change, name, below(i));
      if (part !== value[i]) (copy ??= [...value])[i] = part;
    }
    return (copy ?? value) as T;
  }
  let changed = false;
  const mapped = Object.entries(value).map(([given, part]) => {
    const at = below(given);
    const [named, made] = [name(given, at), mapParts(part, change, name, at, given)];
    changed ||= named !== given || made !== part;
    return [named, made] as const;
  });
  return (changed ? Object.fromEntries(mapped) : value) as T;
}
