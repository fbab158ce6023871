import { beginning, firstHole, literal, MANY, type Word } from "./reader.ts";

/** A text that git gives to a shell, with words behind it. */
interface GitScript {
  readonly script: Word;
  readonly more: readonly Word[];
}

/** What git is told to run beside itself; undefined where that is nothing. */
export function gitRuns(
  words: readonly Word[],
): { readonly at?: number; readonly scripts: readonly GitScript[] } | undefined {
  const aliases: Word[] = [];
  let at = 1;
  for (; beginning(words[at]).startsWith("-"); at++) {
    const option = beginning(words[at]);
    if (literal(words[at]) === "-c") aliases.push(...aliased(words[++at]));
    else {
      if (VALUED.test(literal(words[at]) ?? "")) at++;
      // The variable that it names may hold anything.
      if (/^--config-env(?:=|$)/.test(option) && /^(?:--config-env=)?alias\./i.test(beginning(words[at]))) {
        aliases.push({ ...words[at]!, parts: [MANY] });
      }
    }
  }
  const rest = words.slice(at + 1);
  const scripts = aliases.map((script) => ({ script, more: rest }));
  const sub = literal(words[at]) ?? "";
  const action = literal(rest[0]);
  if (sub === "bisect" && action === "run" && rest.length > 1) return { at: at + 2, scripts };
  if (sub === "submodule") {
    const isOperand = (word: Word) => !beginning(word).startsWith("-");
    const does = rest.findIndex(isOperand);
    const from = rest.findIndex((word, i) => i > does && isOperand(word));
    if (literal(rest[does]) === "foreach" && from > 0) {
      scripts.push({ script: rest[from]!, more: rest.slice(from + 1) });
    }
  }
  if (Object.hasOwn(TAKES_SCRIPT, sub)) {
    scripts.push(...valuesOf(rest, TAKES_SCRIPT[sub]!).map((script) => ({ script, more: [] })));
  }
  return scripts.length > 0 ? { scripts } : undefined;
}

/** Options before the name of a git command whose value is the next word. */
const VALUED = /^(?:-C|--(?:git-dir|work-tree|namespace|config-env))$/;

/** Options that hold a script, which stands behind them or is the next word. */
const TAKES_SCRIPT: { readonly [command: string]: RegExp } = {
  rebase: /^(?:-[fikmnpqrv]*x|--ex(?:ec?)?(?:=|$))/,
  difftool: /^(?:-[dgty]*x|--ext(?:c(?:md?)?)?(?:=|$))/,
  "filter-branch": /^--(?:setup|env|tree|index|parent|msg|commit|tag-name)-filter$/,
};

function valuesOf(words: readonly Word[], option: RegExp): Word[] {
  return words.flatMap((word, i) => {
    const [found] = option.exec(beginning(word)) ?? [];
    if (found === undefined) return [];
    if (literal(word) !== found) return [withoutBeginning(word, found)];
    const next = words[i + 1];
    return next ? [next] : [];
  });
}

/** The script of an alias that is set for one call: without `!` it is a command of git. */
function aliased(setting: Word | undefined): Word[] {
  if (!setting) return [];
  const [found] = /^(?:alias\.[^=]*=!?)?/i.exec(beginning(setting))!;
  // What only the shell knows may set one.
  if (found === "") return beginning(setting).includes("=") || literal(setting) !== undefined ? [] : [setting];
  const script = withoutBeginning(setting, found);
  return [found.endsWith("!") ? script : { ...script, parts: ["git ", ...script.parts] }];
}

function withoutBeginning(word: Word, text: string): Word {
  return { ...word, parts: [beginning(word).slice(text.length), ...word.parts.slice(firstHole(word))] };
}
