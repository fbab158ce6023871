import { linearSearch } from "./linear-search.ts";
import { type RegexTree, regexTree } from "./tree.ts";

/** Steps that nobody notices, and steps that are borne where there is no other way to be sure. */
const CHEAP = 1e6;
const BEARABLE = 1e9;

/**
 * A search in texts of strangers, whose time does not grow with a power of their length: `curl.*\|.*sh` would take
 * hours for 20,000 characters that nearly match. Undefined where a text is too long to be sure.
 *
 * @param regex without the flags `u` and `v`, and not one that runs away
 */
export function boundedSearch(regex: RegExp): (text: string) => boolean | undefined {
  const tree = regexTree(regex.source, regex.flags);
  const repeated = loops(tree);
  let linear: ReturnType<typeof linearSearch> | undefined;
  return (text) => {
    const cost = steps(text.length, repeated);
    if (cost <= CHEAP) return regex.test(text);
    linear ??= linearSearch(tree, regex);
    const found = linear(text);
    return found !== undefined ? found : cost <= BEARABLE ? regex.test(text) : undefined;
  };
}

/** In how many ways a text can be divided among so many repetitions, wherever the match begins. */
function steps(length: number, repeated: number): number {
  let ways = length;
  for (let i = 1; i <= repeated && ways <= BEARABLE; i++) ways *= length / (i + 1);
  return ways;
}

function loops(tree: RegexTree): number {
  switch (tree.kind) {
    case "loop":
      return loops(tree.body) + (tree.max > 1 ? 1 : 0);
    case "look":
      return loops(tree.body);
    case "sequence":
      return tree.parts.reduce((sum, part) => sum + loops(part), 0);
    case "choice":
      return Math.max(...tree.parts.map(loops));
    default:
      return 0;
  }
}
