/** So many words are kept: they have to come up often enough. */
const MOST = 40;

/**
 * The words a hook looks for, as far as its source shows them: what stands in quotes, in patterns and in the cases of a
 * shell. Events that hold them (`words` of `eventArbitrary()`) reach the parts of a hook that others never do.
 *
 * @example
 * ```ts
 * import { wordsIn } from "crochet/testing";
 *
 * console.log(wordsIn("grep -q 'npm publish' && exit 2")); // [ "npm publish" ]
 * ```
 */
export function wordsIn(source: string): readonly string[] {
  const found = new Set<string>();
  const quoted = source.matchAll(/'([^'\n]{2,120})'|"((?:[^"\\\n]|\\.){2,120})"|`([^`\n]{2,120})`/g);
  const patterns = source.matchAll(/(?<![\w)\]<*/])\/((?:[^/\\\n]|\\.){2,120})\/[dgimsuvy]*(?=[\s,;.)\]])/g);
  const cases = source.matchAll(/^\s*(?:case\s+\S+\s+in\s+)?\(?([^\s()][^()\n]{1,120})\)\s/gm);
  const bare = source.matchAll(/\b(?:contains|equals|grep(?: -\w+)*|value:)\s+["']?([^\s"'|&;#][^"'\n|&;#]{1,80})/g);
  // `[[ $x =~ ^p:(.+)$ ]]` and `[[ $x == git* ]]` are written without quotes.
  const compared = source.matchAll(/\[\[[^\n]*?\s(?:=~|==?|!=)\s+([^\s"'$][^\s"']{1,120})(?=\s)/g);
  for (const [, ...groups] of [...quoted, ...patterns, ...cases, ...bare, ...compared]) {
    const text = groups.find((group) => group !== undefined) ?? "";
    for (const word of plain(text)) if (isTelling(word)) found.add(word);
  }
  return [...found].slice(0, MOST);
}

/** Texts that a pattern matches, as far as a pattern is mostly text. */
function plain(pattern: string): readonly string[] {
  const open = pattern
    .replaceAll(
      /\(\?(?:[imsx]+\)|[:=!<][=!]?)|\\[bBAzZ]|\^|\$(?=$|\)|\|)/g,
      (part) => part.startsWith("(") && !part.endsWith(")") ? "(" : "",
    )
    .replaceAll(/\\[sS][*+]?|\[\[?:?space:?\]?\][*+]?|\[\\s[^\]]*\][*+]?/g, " ")
    .replaceAll(/\\[wWdD][*+?]?|\[[^\]]*\][*+?]?|\.[*+?]|(?<!\\)\*/g, "")
    .replaceAll(/\\(.)/g, "$1");
  // What ends in a blank goes on: `git -C ` is looked for where something follows.
  return spread(open).map((word) => /\S \S.* $/.test(word) ? `${word.trim()} x` : word.trim());
}

/** `git (push|pull)` is `git push` and `git pull`; of several groups the first is spread. */
function spread(pattern: string): readonly string[] {
  const group = /\(([^()]*)\)\??/.exec(pattern);
  if (!group) return pattern.split("|");
  const [whole, inside] = group;
  const around = (word: string) => pattern.slice(0, group.index) + word + pattern.slice(group.index + whole.length);
  return inside!.split("|").slice(0, 6).flatMap((word) => spread(around(word))).slice(0, 12);
}

/** Names of fields and the words of the protocol are in every event anyway, and sentences are for people. */
function isTelling(word: string): boolean {
  if (word.length < 2 || word.length > 60 || !/[\p{L}\p{N}]/u.test(word)) return false;
  if (
    /^(?:tool_\w+|\w+_path|\w+_id|hook\w*|permission\w*|decision|reason|deny|allow|ask|block|action|utf-?8|node:\w+)$/i
      .test(word)
  ) {
    return false;
  }
  return word.split(/\s+/).length <= 5;
}
