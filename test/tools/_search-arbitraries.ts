import { Buffer } from "node:buffer";
import fc from "fast-check";

const FOLDERS = ["", "a/", "b/", "a/b/"];

/** Names that make globs work: dots, brackets, braces, blanks, letters of several bytes. */
const name = fc.oneof(
  fc.constantFrom("a", "b", "ab", "a.b", ".a", "é", "[a", "a,b", "{a", "b}", "!a", "#a", "a\\b", "-", "a b", "a "),
  fc.stringMatching(/^[ab.]{1,3}$/).filter((text) => text !== "." && text !== ".."),
);

export const paths = fc.uniqueArray(fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/")), {
  maxLength: 12,
});

/** Globs, most of them odd, some of them malformed. */
const glob = fc.array(
  fc.constantFrom(
    ...[
      "a",
      "b",
      "*",
      "**",
      "?",
      "/",
      "/",
      ".",
      "[ab]",
      "[!a]",
      "[^b]",
      "{",
      "}",
      ",",
      "{a,b}",
      "{a,}",
      "\\",
      "[",
      "]",
    ],
    ...["-", "!", "#", " ", "é", "[a-b]", "[]a]", "**/", "/**"],
  ),
  { minLength: 1, maxLength: 6 },
).map((parts) => parts.join(""));

/** What a part of a path can become in a glob that matches it still. */
const DISGUISES: ((part: string) => string)[] = [
  (part) => part,
  () => "*",
  () => "**",
  (part) => `${part[0]}*`,
  (part) => `*${part.at(-1)}`,
  (part) => `${part.slice(0, -1)}?`,
  (part) => `{zz,${part}}`,
  (part) => `{**/${part},zz}`,
  (part) => `[${part[0]}]${part.slice(1)}`,
];

/** Where a glob for a path can begin and end. */
const ENDS: ((parts: string[]) => string)[] = [
  (parts) => parts.join("/"),
  (parts) => `/${parts.join("/")}`,
  (parts) => parts.at(-1)!,
  (parts) => `**/${parts.at(-1)}`,
  (parts) => `${parts[0]}/**`,
  (parts) => `${parts[0]}/`,
  (parts) => `!${parts.at(-1)}`,
];

/** Globs for some files: any, and as often one that was made of a path of theirs. */
export function globsFor(files: readonly string[]): fc.Arbitrary<string> {
  if (files.length === 0) return glob;
  const disguises = fc.array(fc.constantFrom(...DISGUISES), { minLength: 3, maxLength: 3 });
  const made = fc.tuple(fc.constantFrom(...files), disguises, fc.constantFrom(...ENDS)).map(([path, become, end]) =>
    end(path.split("/").map((part, i) => become[i]!(part)))
  );
  return fc.oneof(glob, made);
}

/** Ignore files by their path, in several folders and of every kind, negation and malformed lines included. */
export function ignoreFilesFor(files: readonly string[]): fc.Arbitrary<Record<string, string>> {
  const place = fc.tuple(fc.constantFrom(...FOLDERS), fc.constantFrom(".gitignore", ".ignore", ".rgignore"));
  return fc.dictionary(
    place.map((parts) => parts.join("")),
    fc.array(globsFor(files), { maxLength: 4 }).map((lines) => lines.join("\n") + "\n"),
    { maxKeys: 3 },
  );
}

/** Where a repository begins, if anywhere. */
export const repository = fc.constantFrom(undefined, undefined, "", "a", "a/b");

const text = fc.array(
  fc.constantFrom(
    ...[
      "a",
      "b",
      "A",
      "K",
      "\u212a",
      "é",
      "É",
      " ",
      "\t",
      "\n",
      "\n",
      "\r\n",
      "0",
      "_",
      "-",
      "x",
      "}",
      "ſ",
      "😀",
      "\u2028",
    ],
    ...["\u0085", "aaa"],
  ),
  { maxLength: 30 },
).map((parts) => Buffer.from(parts.join("")));

const LARGE = [Buffer.from("x\n".repeat(33_000)), Buffer.from("x".repeat(66_000))];

/** Bytes that are no text: NUL early and late, broken UTF-8, lines and files longer than ripgrep's buffer. */
const raw = fc.array(
  fc.oneof(
    text,
    fc.constantFrom(
      ...[[0], [0xff], [0xc3], [0xed, 0xa0, 0x80]].map((bytes) => Buffer.from(bytes)),
      ...["b\n", "a".repeat(600) + "b\n", "é".repeat(1200) + "a\n"].map((part) => Buffer.from(part)),
      ...LARGE,
    ),
  ),
  { maxLength: 5 },
).map((parts) => Buffer.concat(parts));

/** Contents, some with a byte order mark. */
export const content = fc.tuple(
  fc.constantFrom("", "", "", "utf-8", "utf-16"),
  fc.oneof({ weight: 3, arbitrary: text }, raw),
).map(([mark, bytes]) => {
  if (mark === "utf-8") return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]);
  if (mark === "utf-16") {
    return Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(bytes.toString("utf8"), "utf16le")]);
  }
  return bytes;
});

const atom = fc.constantFrom(
  ...["a", "b", "A", "K", "é", ".", "\\w", "\\W", "\\d", "\\D", "\\s", "\\S", "[ab]", "[^a]", "[^b\\n]", "[\\w--a]"],
  ...["[a-z&&[^b]]", "[[:alpha:]]", "[[:^space:]]", "[^\\W]", "\\pL", "\\p{Lu}", "\\p{Greek}", "\\p{sc=greek}", "\\PL"],
  ...[
    "\\p{any}",
    "\\p{alphabetic}",
    "\\x61",
    "\\x{e9}",
    "\\u{61}",
    "\\n",
    "\\r",
    "\\t",
    "^",
    "$",
    "\\b",
    "\\B",
    "\\<",
    "\\>",
  ],
  ...["\\b{start}", "\\b{end-half}", "\\A", "\\z", "()", "x*", "\\-", "\\.", "-", "_", "[]a]", "[^]a]", "[-a]", "[a-]"],
  ...["[a~~b]", "}", "]", "{", "(", "*", "[", "\\", "\\1", "(?=a)", "(?<!a)", "\\q", "😀", "ſ", "[b-a]", "[\\d-z]"],
);

/** Patterns of ripgrep's dialect, and some that are none. */
export const pattern: fc.Arbitrary<string> = fc.letrec<{ whole: string }>((tie) => ({
  whole: fc.oneof(
    { weight: 5, arbitrary: atom },
    fc.tuple(tie("whole"), tie("whole")).map(([a, b]) => `${a}${b}`),
    fc.tuple(tie("whole"), tie("whole")).map(([a, b]) => `${a}|${b}`),
    fc.tuple(fc.constantFrom("(", "(?:", "(?P<n>", "(?<n>", "(?i:", "(?-i:", "(?s:"), tie("whole")).map(([open, a]) =>
      `${open}${a})`
    ),
    fc.tuple(tie("whole"), fc.constantFrom("*", "+", "?", "*?", "+?", "??", "{2}", "{1,}", "{0,2}", "{1}{2}", "**"))
      .map(([a, times]) => `(?:${a})${times}`),
    fc.tuple(atom, fc.constantFrom("*", "+", "?", "{2}", "*?", "{ 1 , 2 }", "{2,1}", "{,2}")).map(([a, times]) =>
      a + times
    ),
    fc.tuple(fc.constantFrom("(?i)", "(?-i)", "(?s)", "(?-s)", "(?i-s)"), tie("whole")).map(([flags, a]) => flags + a),
  ),
})).whole;
