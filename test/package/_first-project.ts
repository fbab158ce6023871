import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packedManifest } from "../../lib/extensions/setup/packed.ts";
import { type Installed, run, runIn } from "./_install.ts";

/** The lines that `crochet init` ends with, without the last one: that needs a key. */
export function nextLines(told: string): string[] {
  const lines = told.slice(told.indexOf("\nNext\n") + 6).trimEnd().split("\n");
  assert.match(lines.at(-1)!, /needs ANTHROPIC_API_KEY$/);
  return lines.slice(0, -1).map((line) => line.trim().split("  ")[0]!);
}

/** Runs commands as a person types them, in a home that knows nothing, where packages come from `registry`. */
export function stranger(home: string, path: string, registry: string) {
  mkdirSync(home, { recursive: true });
  const known = [`HOME=${home}`, `NPM_CONFIG_REGISTRY=${registry}`, `npm_config_registry=${registry}`];
  return (cwd: string, line: string): string =>
    runIn(cwd, path, "env", "-u", "CROCHET_HOME", "-u", "DENO_DIR", ...known, "sh", "-c", line);
}

/** Begins a registry that has our package, as npm publishes it. */
export async function registryOf({ folder, tarball, only }: Installed): Promise<{ url: string; close(): void }> {
  const script = fileURLToPath(new URL("./_registry.ts", import.meta.url));
  const others = run(folder, "npm", "config", "get", "registry").trim();
  const manifest = join(dirname(tarball), "package.json");
  const unpublished = readFileSync(manifest, "utf8");
  writeFileSync(manifest, packedManifest(unpublished, true));
  const published = join(
    folder,
    run(dirname(tarball), "npm", "pack", "--ignore-scripts", "--pack-destination", folder).trim(),
  );
  writeFileSync(manifest, unpublished);
  const child = spawn(join(only.bun, "bun"), [script, published, manifest, others], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [first] = await once(child.stdout, "data");
  return { url: String(first).trim(), close: () => void child.kill() };
}

/** The folder that npm is in. */
export function npmFolder(): string {
  return dirname(run(dirname(fileURLToPath(import.meta.url)), "sh", "-c", "command -v npm").trim());
}

/** The commands of the hooks that a project has in its settings for Claude. */
export function installedCommands(project: string): string[] {
  const { hooks } = JSON.parse(readFileSync(join(project, ".claude/settings.local.json"), "utf8"));
  const groups = Object.values(hooks).flat() as { hooks: { command: string }[] }[];
  return groups.flatMap((group) => group.hooks.map(({ command }) => command));
}
