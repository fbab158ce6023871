/**
 * Grep against ripgrep itself: the same search as a bare child process whose output is read and dropped, interleaved.
 * `bun run grep.ts [rounds]`, `deno run -A grep.ts [rounds]`
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findRipgrep } from "../lib/tools/search/ripgrep.ts";
import { grep, type GrepInput } from "../lib/tools/grep.ts";
import { median } from "./_measure.ts";

const FOLDERS = 100;
const FILES = 40;
const LINES = 600;

const searches: { name: string; input: GrepInput; args: string[] }[] = [
  {
    name: "files with a rare word",
    input: { pattern: "needle" },
    args: ["-l", "needle"],
  },
  {
    name: "lines with a rare word",
    input: { pattern: "needle", output_mode: "content" },
    args: ["-n", "needle"],
  },
  {
    name: "lines with a rare word, in context",
    input: { pattern: "needle", output_mode: "content", "-C": 3 },
    args: ["-n", "-C3", "needle"],
  },
  {
    name: "a pattern without a literal",
    input: { pattern: "\\b[a-z]+_[0-9]{5}\\b", output_mode: "content" },
    args: ["-n", "\\b[a-z]+_[0-9]{5}\\b"],
  },
  {
    name: "any case, only *.ts",
    input: {
      pattern: "NEEDLE",
      "-i": true,
      glob: "*.ts",
      output_mode: "content",
    },
    args: ["-n", "-i", "-g", "*.ts", "NEEDLE"],
  },
  {
    name: "counts",
    input: { pattern: "needle", output_mode: "count" },
    args: ["-c", "needle"],
  },
  {
    name: "a flood: every line matches",
    input: { pattern: "e", output_mode: "content" },
    args: ["-n", "e"],
  },
];

function plant(root: string): void {
  let seed = 1;
  const random = (below: number) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % below;
  const words = [
    "value",
    "result",
    "handle",
    "return",
    "const",
    "await",
    "element",
    "buffer",
    "length",
    "module",
  ];
  for (let folder = 0; folder < FOLDERS; folder++) {
    const directory = join(root, `folder${folder}`);
    mkdirSync(directory);
    writeFileSync(join(directory, ".gitignore"), "*.log\n");
    for (let file = 0; file < FILES; file++) {
      const lines = Array.from(
        { length: LINES },
        () => `  ${words[random(10)]} = ${words[random(10)]}(${random(1000)});`,
      );
      if (random(20) === 0) {
        lines[random(LINES)] = `  needle_${10_000 + random(1000)} = ${words[random(10)]};`;
      }
      writeFileSync(
        join(directory, `file${file}.${["ts", "js", "md", "log"][file % 4]}`),
        lines.join("\n") + "\n",
      );
    }
  }
}

function bare(
  binary: string,
  root: string,
  args: readonly string[],
): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    const child = spawn(binary, [
      "--no-config",
      "--hidden",
      "--no-require-git",
      ...args,
      "./",
    ], {
      cwd: root,
      stdio: ["ignore", "pipe", "ignore"],
    });
    child.stdout.on("data", (chunk: Uint8Array) => bytes += chunk.length);
    child.on("error", reject);
    child.on("close", () => resolve(bytes));
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const rounds = Number(process.argv[2] ?? 31);
const binary = findRipgrep();
if (binary === undefined) {
  throw new Error("Cannot measure as ripgrep is not here: bun install");
}
const root = mkdtempSync(join(tmpdir(), "crochet-bench-grep-"));
try {
  plant(root);
  console.log(
    `${FOLDERS * FILES} files, medians of ${rounds} interleaved rounds, the ratio that of each round`,
  );
  for (const { name, input, args } of searches) {
    const theirs: number[] = [];
    const ours: number[] = [];
    for (let round = -2; round < rounds; round++) {
      const both = [() => bare(binary, root, args), () => grep(input, { cwd: root })];
      // Who goes first alternates, so that neither always finds what the other has warmed.
      const ms = [0, 0];
      for (const who of round % 2 === 0 ? [0, 1] : [1, 0]) ms[who] = await timed(both[who]!);
      if (round < 0) continue;
      theirs.push(ms[0]!);
      ours.push(ms[1]!);
    }
    const [a, b] = [median(theirs), median(ours)];
    const ratio = median(ours.map((ms, i) => ms / theirs[i]!));
    console.log(
      `${ratio.toFixed(2)}×  ${name}: ripgrep ${a.toFixed(1)} ms, Grep ${b.toFixed(1)} ms`,
    );
  }
} finally {
  rmSync(root, { recursive: true });
}
