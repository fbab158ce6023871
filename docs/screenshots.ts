/** Makes the pictures of the README from the fixtures: `bun run screenshots`. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { fixtureAgent } from "../lib/cli/_fixtures.ts";
import { findFixture } from "../lib/replay/fixture.ts";
import { runFixture } from "../lib/replay/run-fixture.ts";
import { rolloutWriter } from "../lib/transcript/rollout.ts";
import { terminalPage } from "./_terminal.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const IMAGES = fileURLToPath(new URL("./images/", import.meta.url));
/** What a picture in a repository may weigh. */
const MOST_BYTES = 80_000;

const scratch = mkdtempSync(join(tmpdir(), "crochet-pictures-"));
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--headless", "--no-sandbox", "--disable-gpu"] });
try {
  const delegate = await viewOf("delegate");
  await picture("view-light", delegate, { colorScheme: "light" });
  await picture("view-dark", delegate, { colorScheme: "dark" });
  const shown = join(scratch, "terminal.html");
  writeFileSync(shown, terminalPage("npm start", output("bun", "run", "fixtures/start.ts")));
  await picture("terminal", `file://${shown}`, {}, "body");
} finally {
  await browser.close();
  rmSync(scratch, { recursive: true });
}

/** The page of a fixture's replay. It is drawn from a rollout, as what hooks did is not on a tape. */
async function viewOf(name: string): Promise<string> {
  const [rollout, page] = ["jsonl", "html"].map((ending) => join(scratch, `${name}.${ending}`)) as [string, string];
  const fixture = findFixture(name, ROOT);
  const log = rolloutWriter(rollout, name, Date.now);
  await runFixture(fixture, await fixtureAgent(fixture), { on: (event) => log.write(event) });
  log.close();
  output(join(ROOT, "lib/cli/crochet"), "view", rollout, "--out", page);
  return `file://${page}`;
}

function output(command: string, ...args: string[]): string {
  const { NO_COLOR: _, ...env } = process.env;
  return execFileSync(command, args, {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...env, FORCE_COLOR: "1", COLUMNS: "100" },
  });
}

/** Takes a picture of what a window shows, or of one element of the page. */
async function picture(name: string, url: string, options: BrowserContextOptions, element?: string): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1120, height: 780 }, ...options });
  const page: Page = await context.newPage();
  await page.goto(url);
  await page.waitForTimeout(500);
  const path = join(IMAGES, `${name}.png`);
  if (element === undefined) await page.screenshot({ path });
  else await page.locator(element).first().screenshot({ path });
  await context.close();
  const { size } = statSync(path);
  console.log(`${path.slice(ROOT.length)} ${Math.ceil(size / 1000)} KB`);
  if (size > MOST_BYTES) throw new Error(`Cannot keep ${name} as it has ${size} bytes: at most ${MOST_BYTES}`);
}
