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
