import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { mcpShims } from "../../../lib/extensions/tape/mcp-config.ts";
import { pointedAt } from "../../../lib/extensions/tape/pointing.ts";
import { put, scratch } from "../../_scratch.ts";

const run = (name: string, more: object = {}) => ({ command: "node", args: [name], ...more });
const json = (value: object) => JSON.stringify(value);

/** Homes and projects with servers in every place that a client reads, and which of them get our command, by its server. */
async function shims(
  files: { readonly [path: string]: string },
  { command = ["claude", "-p", "hi"], env = {} }: {
    readonly command?: readonly string[];
    readonly env?: { readonly [name: string]: string };
  } = {},
) {
  using folder = scratch();
  const [home, directory] = [join(folder.path, "home"), join(folder.path, "project")];
  const text = (value: string) => value.replaceAll("$HERE", directory);
  put(folder.path, { "home/.keep": "", "project/.keep": "", ...files });
  const all = Object.fromEntries(Object.entries(files).map(([path, value]) => [path, text(value)]));
  put(folder.path, all);
  const find = (name: string) =>
    files[`bin/${name}.sh`] === undefined ? undefined : join(folder.path, "bin", `${name}.sh`);
  const found = await mcpShims({
    ...{ url: "http://127.0.0.1:1/t", directory, find },
    command: command.map(text),
    env: { HOME: home, PATH: process.env.PATH, ...env },
  });
  for (const [path, value] of Object.entries(all)) assert.equal(readFileSync(join(folder.path, path), "utf8"), value);
  return found;
}

/** The servers that get our command, each with the words of its own. */
function wordsOf(servers: { readonly [name: string]: { readonly [key: string]: unknown } }) {
  return Object.fromEntries(
    Object.entries(servers).map(([name, { args, url }]) => {
      const words = args as readonly string[] | undefined;
      if (words) assert.deepEqual(words.slice(words.indexOf("mcp"), words.indexOf("mcp") + 2), ["mcp", name]);
      return [name, words ? words.slice(words.indexOf("--") + 1).join(" ") : url];
    }),
  );
}

const TRUSTED = { hasTrustDialogAccepted: true };

test("Claude Code's servers of every scope get our command, the nearest of one name, and none that it would not start", async () => {
  const mcp = { "project/.mcp.json": json({ mcpServers: { shared: run("shared"), off: run("off") } }) };
  const own = (project: object) => ({
    "home/.claude.json": json({ mcpServers: { mine: run("mine"), both: run("mine") }, projects: { $HERE: project } }),
  });
  const local = { mcpServers: { both: run("local") } };
  const always = { mine: "node mine", both: "node local" };
  const plugin = {
    "project/plug/.claude-plugin/plugin.json": json({ name: "p" }),
    "project/plug/.mcp.json": json({ mcpServers: { s: run("${CLAUDE_PLUGIN_ROOT}/s.mjs") } }),
  };
  const cases = [
    [own(local), {}, always],
    [{ ...own(local), ...mcp }, {}, always],
    [{ ...own({ ...local, ...TRUSTED }), ...mcp }, {}, { ...always, shared: "node shared", off: "node off" }],
    [{ ...own({ ...local, ...TRUSTED }), ...mcp }, { command: ["claude"] }, always],
    [
      { ...own({ ...local, ...TRUSTED, disabledMcpjsonServers: ["off"] }), ...mcp },
      {},
      { ...always, shared: "node shared" },
    ],
    [
      { ...own(local), ...mcp, "project/.claude/settings.json": json({ enabledMcpjsonServers: ["shared"] }) },
      {},
      { ...always, shared: "node shared" },
    ],
    [
      { ...own(local), "project/a.json": json({ mcpServers: { mine: run("a") } }) },
      { command: ["claude", "--mcp-config", "$HERE/a.json", "-p", "hi"] },
      { ...always, mine: "node a" },
    ],
    [
      own(local),
      {
        command: [
          "claude",
          `--mcp-config=${json({ mcpServers: { one: run("one") } })}`,
          "--strict-mcp-config",
          "-p",
          "hi",
        ],
      },
      { one: "node one" },
    ],
  ] as const;
  for (const [files, options, expected] of cases) {
    assert.deepEqual(wordsOf((await shims(files, options)).claude), expected);
  }
  const { claude } = await shims(plugin, { command: ["claude", "--plugin-dir", "$HERE/plug", "-p", "hi"] });
  assert.match(String(wordsOf(claude)["plugin:p:s"]), /^node \/.*\/plug\/s\.mjs$/);
});

test("a server over HTTP goes by way of the tape with its address in a header, and one over SSE is named", async () => {
  const servers = {
    web: { type: "http", url: "https://${HOST}/mcp", headers: { "X-Key": "${KEY}" } },
    old: { type: "sse", url: "https://a.example/sse" },
  };
  const { claude, notes } = await shims({ "home/.claude.json": json({ mcpServers: servers }) });
  assert.deepEqual(claude, {
    web: {
      ...{ type: "http", url: "http://127.0.0.1:1/t/mcp/web" },
      headers: { "X-Key": "${KEY}", "x-crochet-to": "https://${HOST}/mcp" },
    },
  });
  assert.deepEqual(notes, ["MCP server 'old' runs for real: only processes and streamable HTTP are recorded"]);
});

test("Codex is given only the words that differ, and one that does not list its servers ends the run", async () => {
  const transport = { type: "stdio", ...run("w"), env: { KEY: "v" } };
  const list = [{ name: "w", enabled: true, transport }, { name: "off", enabled: false, transport }, {
    ...{ name: "web", enabled: true, transport: { type: "streamable_http", url: "https://a.example/mcp" } },
  }];
  const { codex } = await shims({ "bin/codex.sh": `#!/bin/sh\necho '${json(list)}'\n` }, {
    command: ["codex", "exec", "hi"],
  });
  const set = codex.filter((word) => word !== "-c").map((word) => /^[^=]*/.exec(word)![0]);
  assert.deepEqual(set, [
    ...[
      "mcp_servers.w.command",
      "mcp_servers.w.args",
      "mcp_servers.web.url",
      "mcp_servers.web.http_headers.x-crochet-to",
    ],
  ]);
  // Those that the user gives are asked for too, in each way to write them.
  const asks = `#!/bin/sh\necho "$@" >&2\nexit 1\n`;
  const own = [
    "-c",
    "mcp_servers.x.command=a",
    "-cb=c",
    "--config=d=e",
    "-p",
    "work",
    "--profile=p",
    "--",
    "-c",
    "f=g",
  ];
  await assert.rejects(
    shims({ "bin/codex.sh": asks }, { command: ["codex", "exec", ...own] }),
    /\(-c mcp_servers\.x\.command=a -cb=c --config=d=e -p work --profile=p mcp list --json\)/,
  );
  assert.match(codex[3]!, /"--env","KEY","--","node","w"\]$/);
  await assert.rejects(
    shims({ "bin/codex.sh": "#!/bin/sh\necho 'bad config' >&2\nexit 1\n" }, { command: ["codex", "exec", "hi"] }),
    /^TapeError: Cannot find the MCP servers of Codex as 'codex mcp list --json' failed \(bad config\): try it, or --mcp live$/,
  );
});

test("Gemini CLI's servers are merged by name as it does, and those of a directory count if it is trusted", async () => {
  const settings = (mcpServers: object, more: object = {}) => `{ // mine\n${json({ mcpServers, ...more }).slice(1)}`;
  const files = {
    "home/.gemini/settings.json": settings({ a: run("home"), b: run("home") }),
    "project/.gemini/settings.json": settings({ b: run("here") }),
    "project/system.json": settings({ c: { httpUrl: "https://a.example/mcp" } }, { ui: { theme: "x" } }),
  };
  const trusted = { ...files, "home/.gemini/trustedFolders.json": json({ $HERE: "TRUST_FOLDER" }) };
  const untrusted = await shims(files, { command: ["gemini"] });
  assert.deepEqual(wordsOf(untrusted.gemini!.mcpServers as never), { a: "node home", b: "node home" });
  assert.match(untrusted.notes[0]!, /^MCP server 'b' of \.gemini\/settings\.json is left to Gemini CLI/);
  const { gemini } = await shims(trusted, { command: ["gemini"] });
  assert.deepEqual(wordsOf(gemini!.mcpServers as never), { a: "node home", b: "node here" });
});

test("our arguments come behind those of the user and before a --, by name and by path", async () => {
  using folder = scratch();
  const transport = { type: "stdio", ...run("w") };
  const list = `[ "$*" = "mcp list --json" ] && echo '${json([{ name: "w", enabled: true, transport }])}' && exit\n`;
  put(folder.path, { "home/.claude.json": json({ mcpServers: { w: run("w") } }), "project/.keep": "" });
  for (const name of ["claude", "codex"]) {
    put(folder.path, { [`bin/${name}`]: `#!/bin/sh\n${list}printf '%s\\n' "$@"\n` });
    chmodSync(join(folder.path, "bin", name), 0o700);
  }
  const env = { HOME: join(folder.path, "home"), PATH: `${join(folder.path, "bin")}:${process.env.PATH}` };
  const ours = {
    claude: [/^--mcp-config=/],
    codex: [/^-c$/, /^mcp_servers\.w\.command=/, /^-c$/, /^mcp_servers\.w\.args=/],
  };
  const typed = [["a b", "it's"], [], ["a", "--", "--", "-p"], ["--"]];
  for (const name of ["claude", "codex"] as const) {
    for (const words of typed) {
      for (const program of [name, join(folder.path, "bin", name)]) {
        const given = { env, cwd: join(folder.path, "project"), mcp: true };
        using pointed = await pointedAt("http://127.0.0.1:1/t", [program, ...words], given);
        const [file = "", ...args] = pointed.command;
        const { stdout } = spawnSync(file, args, { env: { ...pointed.env }, encoding: "utf8" });
        const got = stdout.split("\n").slice(name === "codex" ? 2 : 0, -1);
        const at = words.includes("--") ? words.indexOf("--") : words.length;
        assert.deepEqual([...got.slice(0, at), ...got.slice(at + ours[name].length)], words);
        ours[name].forEach((word, i) => assert.match(got[at + i]!, word));
      }
    }
  }
});

test("a link in the place of our own folder in the home is refused, and nothing is written through it", async () => {
  using folder = scratch({ "else/.keep": "", "home/.crochet/.keep": "" });
  symlinkSync(join(folder.path, "else"), join(folder.path, "home/.crochet/tape"));
  const given = { env: { HOME: join(folder.path, "home") }, cwd: folder.path, mcp: false };
  await assert.rejects(pointedAt("http://127.0.0.1:1/t", ["claude"], given), /tape as it is a link: remove it$/);
  assert.deepEqual(readdirSync(join(folder.path, "else")), [".keep"]);
});
