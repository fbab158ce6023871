/** Writes `llms.txt`, by which an agent finds the pages, from their titles and first words: `bun run docs/llms.ts`. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => readFileSync(`${ROOT}${path}`, "utf8");

/** What a reader begins with, and what only those need who work on Crochet itself; the rest is between. */
const FIRST = ["README.md", "docs/install.md", "docs/first-hook.md", "hooks/README.md"];
const LAST = ["docs/architecture.md", "docs/how-to-add.md", "docs/requirements.md"];

/** The file, whole. Its paths are those of a clone and of the package. */
export function llmsText(): string {
  const { description } = JSON.parse(read("package.json"));
  const pages = readdirSync(`${ROOT}docs`).filter((name) => name.endsWith(".md")).sort().map((name) => `docs/${name}`);
  const rest = pages.filter((path) => ![...FIRST, ...LAST].includes(path));
  const list = (title: string, paths: readonly string[]) => `## ${title}\n\n${paths.map(lineOf).join("\n")}`;
  const parts = ["# Crochet", `> ${description}`, list("Start", FIRST), list("Pages", rest), list("Optional", LAST)];
  return `${parts.join("\n\n")}\n`;
}

/** What is said of a page at least, in characters, where its first sentence is short. */
const LEAST = 70;

function lineOf(path: string): string {
  const [title, ...parts] = read(path).replaceAll(/```[^]*?```/g, "").split(/\n{2,}/);
  const text = parts.find((part) => /^[`\w"*[]/.test(part));
  if (!title!.startsWith("# ") || !text) throw new Error(`${path} does not begin with a title and a text: write them`);
  const plain = text.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1").replaceAll("**", "").replaceAll(/\s+/g, " ").trim();
  const ends = [...plain.matchAll(/[.!?:](?= |$)/g)].map(({ index }) => index);
  const end = ends.find((at) => at >= LEAST) ?? plain.length - 1;
  return `- [${title!.slice(2)}](${path}): ${plain.slice(0, end)}.`;
}

if (import.meta.main) writeFileSync(`${ROOT}llms.txt`, llmsText());
