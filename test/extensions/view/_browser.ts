import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { browser as program } from "../../_needs.ts";
import { scratch } from "../../_scratch.ts";

const FLAGS = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  ...["--disable-component-update", "--disable-sync", "--no-first-run"],
];

let browser: Promise<Browser> | undefined;
let folder: ReturnType<typeof scratch> | undefined;
let pages = 0;

/** Ends the browser; for `after` of each file that opens pages, as files may share a process. */
export async function closeBrowser(): Promise<void> {
  const open = browser;
  browser = undefined;
  await (await open)?.close();
  folder?.[Symbol.dispose]();
  folder = undefined;
}

/** A page of ours, with all that must not happen on it. */
export interface Opened {
  readonly page: Page;
  /** Requests other than for the file itself, messages on the console, errors, dialogs. */
  readonly trouble: string[];
  readonly url: string;
}

/** Opens a page from the disk, as a person would. */
export async function open(html: string, hash = "", options: BrowserContextOptions = {}): Promise<Opened> {
  folder ??= scratch();
  const path = join(folder.path, `${pages++}.html`);
  writeFileSync(path, html);
  const opened = await openFile(path, hash, options);
  await isWhole(opened.page);
  return opened;
}

/** Waits until the script of a run's page has drawn it. */
export async function isWhole(page: Page): Promise<void> {
  await page.waitForFunction(() => performance.getEntriesByName("whole").length > 0);
}

/** Opens a file, which need not be the page of a run. */
export async function openFile(path: string, hash = "", options: BrowserContextOptions = {}): Promise<Opened> {
  browser ??= chromium.launch({ executablePath: program!, args: FLAGS });
  const context = await (await browser).newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const url = `file://${path}`;
  const trouble: string[] = [];
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== url) trouble.push(`request ${request.url()}`);
  });
  page.on("console", (message) => trouble.push(`console ${message.text()}`));
  page.on("pageerror", (error) => trouble.push(`error ${error.message}`));
  page.on("dialog", async (dialog) => {
    trouble.push(`dialog ${dialog.message()}`);
    await dialog.dismiss();
  });
  await page.goto(url + hash);
  return { page, trouble, url };
}
