/** Makes the pictures of the README from the fixtures: `bun run screenshots`. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { fixtureAgent } from "../lib/cli/kit/known-fixtures.ts";
import { findFixture } from "../lib/replay/fixture.ts";
import type { TimedEvent } from "../lib/log/logged-run.ts";
import { runFixture } from "../lib/replay/run-fixture.ts";
import { runPage } from "../lib/extensions/view/html.ts";
import { viewOf } from "../lib/extensions/view/view-of-run.ts";
import { terminalPage } from "./_terminal.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const IMAGES = fileURLToPath(new URL("./images/", import.meta.url));
/** What a picture in a repository may weigh. */
const MOST_BYTES = 80_000;

const scratch = mkdtempSync(join(tmpdir(), "crochet-pictures-"));
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--headless", "--no-sandbox", "--disable-gpu"] });
try {
  const delegate = await pageOf("delegate");
  await picture("view-light", delegate, { colorScheme: "light" });
  await picture("view-dark", delegate, { colorScheme: "dark" });
  const shown = join(scratch, "terminal.html");
  writeFileSync(shown, terminalPage("npm start", output("bun", "run", "fixtures/start.ts")));
  await picture("terminal", `file://${shown}`, {}, "body");
} finally {
  await browser.close();
  rmSync(scratch, { recursive: true });
}

/** The page of a fixture's replay. It is drawn from its events, as what hooks did is not on a tape. */
async function pageOf(name: string): Promise<string> {
  const path = join(scratch, `${name}.html`);
  const fixture = findFixture(name, ROOT);
  const events: TimedEvent[] = [];
  await runFixture(fixture, await fixtureAgent(fixture), {
    on: (event) => events.push({ at: new Date().toISOString(), ...event }),
  });
  writeFileSync(path, runPage(viewOf({ events, notes: [] }, `run ${name}`)));
  return `file://${path}`;
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
