import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { agent, anthropic } from "../../lib/index.ts";
import { importRecording } from "../../lib/extensions/import/import.ts";
import { naming } from "../../lib/log/redact/places.ts";
import { redactor } from "../../lib/log/redact/redact.ts";
import { scanFacts } from "../../lib/log/redact/scan.ts";
import { secretsOf } from "../../lib/log/redact/secrets.ts";
import type { Fact, Header } from "../../lib/log/entry.ts";
import type { Tape } from "../../lib/log/tape.ts";
import { ended } from "../_crochet.ts";
import { RUNTIME } from "../_runtime.ts";
import { serve } from "../_server.ts";
import { inFolder, take, tapeIn } from "./_stage.ts";

/** Random letters that are the same in every run. */
function chance(length: number, of = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"): string {
  let state = length;
  const next = () => (state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5 | 0) >>> 8;
  return Array.from({ length }, () => of[next() % of.length]).join("");
}
const HEX = "0123456789abcdef";
const CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** What tokens begin with, by which their services know them. */
const TOKENS = (
  "dop_v1_ dp.pt. hvs. lin_api_ ntn_ shpat_ sq0atp- dckr_pat_ fm2_ sbp_ pscale_tkn_ glsa_ NRAK- sntrys_ " +
  "gsk_ xai- pplx- r8_ tvly- lsv2_pt_ glptt- nvapi- csk- pcsk_ jina_ tgp_v1_ hvb. figd_ PMAK- CFPAT- nfp_ " +
  "HRKU- rubygems_ CCIPAT_ bkua_ sgp_ phx_"
).split(" ");

/** What people have in their files and terminals: the secret, and what stands before and behind it. */
const SECRETS: readonly (readonly [secret: string, before?: string, after?: string])[] = [
  ["sk-ant-oat01-" + chance(80)],
  ["ops_eyJ" + chance(600)],
  ["A3-" + [6, 6, 5, 5, 5, 5].map((length) => chance(length, CAPITALS)).join("-")],
  [chance(12), "htpasswd -b .htpasswd bob "],
  [chance(12), "openssl passwd -6 "],
  [chance(12), "sshpass -p "],
  ["sk-ant-api03-" + chance(93), "key"],
  ["sk-ant-admin01-" + chance(93), '{"tok_', '"}'],
  ["ghp_" + chance(36), "token", "&x=1"],
  ["github_pat_" + chance(22) + "_" + chance(59), "my_"],
  ["glpat-" + chance(20), "gl"],
  ["sk-proj-" + chance(60)],
  ["ghs_" + chance(36)],
  ["github_pat_" + chance(22) + "_" + chance(59)],
  ["glpat-" + chance(20)],
  ["glrt-" + chance(20)],
  ["xoxb-123456789012-1234567890123-" + chance(24)],
  ["xapp-1-A0123456789-1234567890123-" + chance(64, HEX)],
  ["T01ABCDEF/B01ABCDEF/" + chance(24), "https://hooks.slack.com/services/"],
  [chance(68), "https://discord.com/api/webhooks/123456789012345678/"],
  ["AKIA" + chance(16, CAPITALS)],
  [chance(40), "aws_secret_access_key = "],
  [chance(40), '"SecretAccessKey": "', '"'],
  [chance(200), "AWS_SESSION_TOKEN="],
  [chance(86) + "==", "AccountKey=", ";EndpointSuffix=core.windows.net"],
  [chance(43) + "%3D", "https://x.blob.core.windows.net/a?sv=2022-11-02&sig="],
  ["AIza" + chance(35)],
  ["GOCSPX-" + chance(28)],
  ["sk_live_" + chance(24)],
  ["whsec_" + chance(32)],
  ["npm_" + chance(36)],
  [chance(36), "//registry.example/:_authToken="],
  ["pypi-AgEIcHlwaS5vcmc" + chance(60)],
  ["SG." + chance(22) + "." + chance(43)],
  ["123456789:AA" + chance(33)],
  ["ATATT3xFfGF0" + chance(180)],
  ["AGE-SECRET-KEY-1" + chance(58, CAPITALS)],
  ["dapi" + chance(32, HEX)],
  ...TOKENS.map((token) => [token + chance(40)] as const),
  ["sk_" + chance(48, HEX)],
  [chance(14) + ".atlasv1." + chance(67)],
  ["Ab18Q~" + chance(34)],
  [Buffer.from("ghp_" + chance(36)).toString("base64"), "token: "],
  [
    Buffer.from(["-----BEGIN RSA PRIVATE ", `KEY-----\n${chance(90)}\n`].join("")).toString("base64"),
    "client-key-data: ",
  ],
  [["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", chance(43)].join(".")],
  [["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", chance(43)].join("."), "undefined"],
  [["-----BEGIN OPENSSH PRIVATE ", "KEY-----\nb3Blb", chance(60), "\n-----END OPENSSH PRIVATE ", "KEY-----"].join("")],
  [["-----BEGIN PGP PRIVATE ", "KEY BLOCK-----\n\n", chance(60), "\n-----END PGP PRIVATE ", "KEY BLOCK-----"].join("")],
  [chance(32), "authorization: BEARER "],
  ["dXNlcjpwYXNzd29yZA==", '"Authorization": "Basic ', '"'],
  [chance(32), "X-API-KEY: "],
  ["hunter2secret", "curl -s -u admin:", " https://x.example"],
  ["s3cr3tpw", "postgres://bob:", "@db.example/app"],
  ["p4ssw0rdX", "redis://:", "@cache:6379"],
  [chance(40, HEX), "https://", "@github.com/a/b"],
  [chance(20), "machine api.github.com login bob password "],
  ["dXNlcjp" + chance(24), '{"auths":{"x":{"auth":"', '"}}}'],
  [chance(24), "export STRIPE_SECRET='", "'"],
  [chance(32), "api_token: "],
  ["hunter2x9", "mysql --user bob --password "],
  ["hunter2x9", "mysql --password="],
  ["hunter2x9", "<password>", "</password>"],
  ["hunter2x9", '{"dbPassword": "', '"}'],
  ["hunter2x9", "db_pwd := '", "'"],
  ["correcthorse", "DB_PASSWORD="],
  ["correcthorse", "export APP_SECRET='", "'"],
  [chance(20), '"primaryKey" => "', '"'],
  ["key-" + chance(32, HEX)],
  ["SK" + chance(32, HEX)],
  ["sid=" + chance(24), "SET-COOKIE: "],
  ["_cfuvid=" + chance(40) + "; HttpOnly", "set-cookie: "],
  ["27796668-7351-40ac-acc4-024aee8995a5", "anthropic-organization-id: "],
  ["wrkspc_01J8hau4yJ2SKvtbeP9drm9A"],
];

const KEY = "sk-ant-api03-" + chance(90);
const search = () => redactor({ env: {}, seed: "x" });

test("U16: no secret of a known look survives, in a text, in JSON, or in JSON inside of JSON", () => {
  for (const [secret, before = "", after = ""] of SECRETS) {
    const text = `first\n${before}${secret}${after}\nlast`;
    for (const form of [text, JSON.stringify({ out: text }), JSON.stringify({ in: JSON.stringify({ out: text }) })]) {
      const clean = search().value(JSON.parse(JSON.stringify(form)));
      assert.ok(!clean.includes(secret.slice(-12)), `${before}${secret} is left in ${form}`);
      assert.equal(search().text(clean), clean);
      assert.ok(search().suspects(form), `a tape with ${before}${secret} is not looked at again`);
    }
    assert.match(search().text(text), /^first\n[\s\S]*\nlast$/, "nothing else goes");
  }
});

const PLAIN = [
  "sk-learn and task-runner-with-a-long-name are libraries",
  "task-ant-colony-optimisation-of-routes, my_github_pat_of_the_person_who_asked, it weighs_" + "more".repeat(8),
  "the bearer of bad news, a Bearer token required for all requests",
  "cookie: a small file",
  "commit 4a0b68eb04f0eef1efd3491fd1a5c5f29ec760a, sha256:" + chance(64, HEX),
  "27796668-7351-40ac-acc4-024aee8995a5",
  "password: string; const password = await prompt(); token: string",
  "TOKEN=$GITHUB_TOKEN_OF_THE_PERSON password=${DATABASE_PASSWORD_2024} Authorization: Bearer $ANTHROPIC_API_KEY",
  "API_KEY=your-api-key-goes-here-2024 api_key: process.env.SOME_API_KEY_2",
  "toolu_01WXr4HvpYSDv6sj9URmBXHj msg_011CebEavRf1AGP5TsebLKWo req_011CebEaujVHiLJdo3mCWt9R",
  '{"usage":{"input_tokens":10,"output_tokens":12},"max_tokens":32000}',
  "https://example.com/a:b@c http://127.0.0.1:39097/v1/messages git@github.com:a/b.git",
  "https://username:password@www.example.com, const SECRET = K8S_VOLUME_TYPE_VALUE_2",
  "npm_config_registry=https://registry.example/",
  "secretSanta = listOfNamesForTheParty, tokenizer: defaultTokenizerForEnglish",
  "the bearer acknowledges-all-duties, Authorization: Bearer YOUR_ACCESS_TOKEN, x-api-key: YOUR_API_KEY_HERE",
  "AKIAIOSFODNN7EXAMPLE is what manuals show, and sk-ant-xxxxxxxxxxxxxxxxxxxx",
  ".sk-toggleable__label-arrow:before { } .sk-estimator-doc-link-fitted-1 { } sk_stream_moderate_sndbuf()",
  ["if (pem.indexOf('-----BEGIN PRIVATE ", "KEY-----') !== 0) throw new TypeError('it is no key')"].join(""),
  "certificate-authority-data: " + Buffer.from(`-----BEGIN CERTIFICATE-----\n${chance(90)}\n`).toString("base64"),
];

test("U16: a value of an object is secret by its key", () => {
  const given = { user: "bob", password: "hunter2x9", nested: [{ api_key: "a1b2c3d4e5", max_tokens: "12345678" }] };
  const { password, nested, ...rest } = search().value(given);
  assert.match(`${password} ${nested[0]!.api_key}`, /^\{KEY:\w{6}\} \{KEY:\w{6}\}$/);
  assert.deepEqual([rest, nested[0]!.max_tokens], [{ user: "bob" }, "12345678"]);
  assert.deepEqual(search().find(given).map(({ path }) => path), ["password", "nested.0.api_key"]);
  const opaque = { signature: chance(60), encrypted_content: chance(60), data: chance(60) };
  assert.deepEqual(search().value(opaque), opaque);
});

test("U16: what a file such as .env holds is secret wherever it appears", () =>
  inFolder(async (root) => {
    const values = ["hunter2-hunter", "correct-horse", "s3cr3t!value", "postgres-pw-9"];
    const [a, b, c, d] = values;
    writeFileSync(
      join(root, ".env"),
      `APP_PASSWORD="${a}"\nexport SESSION_SECRET=${b}\nNODE_ENV=production\nPORT=30000000\n`,
    );
    writeFileSync(
      join(root, "credentials.json"),
      `{\n  "api_token": "${c}",\n  "url": "postgres://app:${d}@db/x"\n}\n`,
    );
    writeFileSync(join(root, ".env.example"), "APP_PASSWORD=from-the-example\n");
    const { text } = redactor({ env: {}, root });
    const told = text(`${values.join(" ")} production 30000000 from-the-example`);
    assert.equal(
      told,
      "{SECRET:APP_PASSWORD} {SECRET:SESSION_SECRET} {SECRET:api_token} {SECRET:url} production 30000000 from-the-example",
    );
    assert.equal(
      redactor({ env: {} }).text(told.replace(/\{.*\}/, values.join(" "))).includes("{"),
      false,
      "only there",
    );
  }));

test("U16: without options the files of the directory one works in count, as its variables do", () =>
  inFolder(async (root) => {
    // Not .env, which Bun makes variables of.
    writeFileSync(join(root, "credentials"), "APP_PASSWORD=hunter2-hunter\n");
    const redact = new URL("../../lib/log/redact/redact.ts", import.meta.url).href;
    const script = join(root, "says.ts");
    writeFileSync(
      script,
      `import { redactor } from "${redact}";\nconsole.log(redactor().text("hunter2-hunter, correct-horse"));`,
    );
    const { out, err } = await ended([...RUNTIME, script], { cwd: root, env: { MY_TOKEN: "correct-horse" } });
    assert.equal(out, "{SECRET:APP_PASSWORD}, {SECRET:MY_TOKEN}\n", err);
  }));

test("what is learned of a wire is never so short that it is a word, and keeps the name it is known by", () => {
  const search = redactor({ env: { MY_TOKEN: "correct-horse-9" }, learns: true });
  for (const value of ["given", "correct-horse-9", "sesame"]) search.learn("cookie", "cookie", value);
  assert.match(search.text("given correct-horse-9 sesame"), /^given \{SECRET:MY_TOKEN\} \{COOKIE:\w+\}$/);
});

test("few source files have a word that is taken for a secret", () => {
  const files = [
    "../../lib",
    "../../node_modules/yaml/dist",
    "../../node_modules/diff/libesm",
    "../../node_modules/zod/v4",
  ]
    .flatMap((folder) =>
      globSync("**/*.{ts,js}", { cwd: new URL(folder, import.meta.url) }).map((file) => join(folder, file))
    )
    .sort().filter((_, i) => i % 3 === 0).slice(0, 200);
  const alarms = files.filter((file) => search().find(readFileSync(new URL(file, import.meta.url), "utf8")).length > 0);
  assert.ok(files.length === 200 && alarms.length <= 6, `${alarms.length} of ${files.length}: ${alarms}`);
});

test("what only sounds like a secret always stays", () => {
  for (const text of PLAIN) assert.equal(search().text(text), text);
});

test("U16: the value of a variable never survives in an address or in base64, whatever follows it there", () => {
  const value = "hunter2-Correct Horse!9/é";
  const { text, suspects, find } = redactor({ env: { MY_PASSWORD: value }, seed: "s" });
  const base64 = (given: string) => Buffer.from(given).toString("base64");
  const inAddress = encodeURIComponent(value);
  const shownAs = [inAddress, inAddress.replace("!", "%21"), inAddress.toLowerCase().replace("correct", "Correct")]
    .concat(inAddress.replace("%2F", "/"), new URLSearchParams({ a: value }).toString().slice(2))
    .concat(base64(value), base64(`${value}\n`), base64(`${value}, and more`))
    .map((shown) => shown.replace("horse", "Horse"));
  for (const shown of shownAs) {
    const told = text(`it is ${shown} there`);
    assert.match(told, /^it is \{SECRET:MY_PASSWORD\}/);
    assert.equal(told.includes(shown.slice(0, 16)), false);
    assert.deepEqual([suspects(shown), find(shown).length, text(told)], [true, 1, told]);
  }
  for (const before of ["a", "me:", "u:", "user:"]) {
    const shown = base64(before + value);
    assert.equal(text(shown).includes(shown.slice(12, 24)), false, `${before} stands before it`);
  }
  const twice = JSON.stringify(JSON.stringify({ a: 'a"b\\c-12345' }));
  assert.equal(redactor({ env: { MY_PASSWORD: 'a"b\\c-12345' } }).text(twice).includes("12345"), false);
});

test("U16: what a variable is named, and how its value was written, never hides that it is a secret", () => {
  for (const name of ["PGPASSWORD", "MYSQL_PWD", "SSHPASS", "GITHUB_PAT", "githubToken", "CLIENTSECRET", "MYAPIKEY"]) {
    for (const value of ["hunter2-hunter", "hunter2-hunter\r", " hunter2-hunter\n"]) {
      assert.equal(redactor({ env: { [name]: value } }).text("is hunter2-hunter it"), `is {SECRET:${name}} it`);
    }
  }
});

test("a variable is secret by its name alone, also if its name holds its value, unless both are words", () => {
  const named = (env: Record<string, string>) => [...secretsOf(env).values()];
  assert.deepEqual(named({ BUILD: chance(24), A1B2C3D4_API_KEY: "a1b2c3d4" }), ["A1B2C3D4_API_KEY"]);
  assert.deepEqual(named({ MYSERVER_PASSWORD: "myserver" }), []);
});

test("a variable whose value is cut short holds no secret, one that only has dots or stars in it does", () => {
  for (const value of ["sk-ant-...", "ghp_xxxxxxxx", "****1234"]) assert.equal(secretsOf({ A_TOKEN: value }).size, 0);
  for (const value of ["tea...pot!9", "a*** very long one"]) assert.equal(secretsOf({ A_TOKEN: value }).size, 1);
});

test("a home is put out of sight if it is no shorter than four characters", () => {
  const at = (home: string) => naming({ home })(`in ${home}/tea`);
  assert.deepEqual([at("/abc"), at("/ab")], ["in {HOME}/tea", "in /ab/tea"]);
});

test("a secret in a binary file of a tape is reported by its line", () => {
  const bytes = Buffer.from(`\0\xff ghp_${chance(36)} \0`, "latin1").toString("base64");
  const facts = [{}, { tool: "Pack", files: { "a.bin": { base64: bytes } } }] as unknown as (Header | Fact)[];
  const found = scanFacts(facts, { calls: [] } as unknown as Tape, search());
  assert.deepEqual(new Set(found.map(({ path }) => path)), new Set(["line 2.files.a.bin.base64"]));
});

test("well-known values of the environment are never taken for secrets", () => {
  const env = {
    ANTHROPIC_MODEL: "claude-sonnet-4-5-20250929",
    GITHUB_SHA: "4a0b68eb04f0eef1efd3491fd1a5c5f29ec760a1",
    AWS_PROFILE: "the-company-production-readonly-2024",
    POSTGRES_PASSWORD: "postgres",
    DB_PASSWORD: "password",
    DATABASE_URL: "postgres://postgres:postgres@localhost/app",
    BUILD_PWD: "/srv/build/area",
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: "64000000",
  };
  const text = Object.values(env).filter((value) => !value.includes("@")).join(" ");
  assert.equal(redactor({ env }).text(text), text);
});

test("U16: a secret never hides in what looks like a placeholder", () => {
  const key = `sk-ant-api03-${chance(40)}`;
  for (const text of [`{KEY:"${key}"}`, `{SECRET:"${key}",a:1}`, `{KEY:${key}}`, `{COOKIE:${key}}`]) {
    assert.equal(search().text(text).includes(key), false, text);
  }
  const cut = `${["-----BEGIN RSA PRIVATE ", "KEY-----"].join("")}\n${chance(60)}\nand correct-horse`;
  const told = redactor({ env: { MY_TOKEN: "correct-horse" } }).text(cut);
  assert.equal(told.includes(chance(60)), false, told);
});

test("a secret never survives an import: in requests, headers, answers, inputs of tools, cut by a stream, and in the file's name; nor does the home", async () => {
  const secrets = SECRETS.filter(([secret]) => !secret.includes("\n"));
  const said = secrets.map(([secret, before = "", after = ""]) => `${before}${secret}${after}`).join("\n");
  const input = JSON.stringify({ command: said });
  const cut = (text: string, size: number) => text.match(new RegExp(`[^]{1,${size}}`, "g"))!;
  const events = [
    {
      type: "message_start",
      message: { id: "m", type: "message", role: "assistant", model: "m", content: [], usage: { input_tokens: 1 } },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...cut(said, 7).map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
    { type: "content_block_stop", index: 0 },
    {
      type: "content_block_start",
      index: 1,
      content_block: { type: "tool_use", id: "toolu_1", name: "Bash", input: {} },
    },
    ...cut(input, 5).map((partial_json) => ({
      type: "content_block_delta",
      index: 1,
      delta: { type: "input_json_delta", partial_json },
    })),
    { type: "content_block_stop", index: 1 },
    { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ];
  const pair = {
    request: {
      url: "https://api.anthropic.com/v1/messages",
      method: "POST",
      headers: { "x-api-key": KEY, "user-agent": `Tea/1 ${KEY}`, "anthropic-beta": KEY, cookie: "a=" + chance(20) },
      body: {
        model: "m",
        max_tokens: 9,
        system: said,
        messages: [
          { role: "user", content: `in ${homedir()}/notes.md ${said}` },
          { role: "assistant", content: [{ type: "tool_use", id: "toolu_0", name: "Bash", input: { command: said } }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_0", content: said }] },
        ],
      },
    },
    response: {
      status: 200,
      headers: {
        "set-cookie": "_cfuvid=" + chance(40),
        "request-id": KEY,
        "anthropic-organization-id": "27796668-7351-40ac-acc4-024aee8995a5",
      },
      body: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
    },
  };
  const { tape, notes } = await importRecording(Buffer.from(JSON.stringify({ interactions: [pair] })), `${KEY}.json`);
  assert.match(notes.join(), /secrets replaced with placeholders: \d+/);
  const [{ attempts: [attempt] }] = tape.calls as [typeof tape.calls[0]];
  const joined = attempt!.events!.map(({ event }: any) => event?.delta?.text ?? event?.delta?.partial_json ?? "").join(
    "",
  );
  const all = JSON.stringify(tape) + joined + joined.replaceAll("\\", "");
  for (const [secret] of [...secrets, [chance(90)], [chance(40)]]) {
    assert.ok(!all.includes(secret!), `${secret} is left`);
  }
  assert.match(all, /in \{HOME\}\/notes\.md/);
});

test("ids, cookies and keys that go over the wire as headers are known to be secret everywhere else", async () => {
  await inFolder(async (folder) => {
    const org = "0b9ff1f1-0000-4000-8000-5c0de5c0de00";
    using server = await serve((request, response) => {
      request.resume().on("end", () => {
        response.writeHead(400, {
          "content-type": "application/json",
          "anthropic-organization-id": org,
          "set-cookie": "__cf_bm=c00k1e-v4lue; path=/; HttpOnly",
          "request-id": "req_1",
        });
        response.end(
          JSON.stringify({
            type: "error",
            error: { type: "invalid_request_error", message: `too many for ${org} with c00k1e-v4lue` },
          }),
        );
      });
    });
    const model = anthropic({ baseURL: server.url, apiKey: "my-very-own-credential-1" });
    const told = await take(agent({ model }), { folder, tape: { path: folder, mode: "record" } });
    assert.equal(told.result.stop, "error");
    const text = readFileSync(tapeIn(folder), "utf8");
    assert.equal(/0b9ff1f1|c00k1e|my-very-own/.test(text), false, text);
    assert.match(text, /too many for \{ORGANISATION:[0-9a-f]{6}\} with \{COOKIE:[0-9a-f]{6}\}/);
    const errors: Error[] = [];
    await take(agent({ model }), {
      folder,
      prompt: "use my-very-own-credential-1",
      tape: { path: join(folder, "leak"), mode: "record", onError: (e) => errors.push(e as Error) },
    });
    assert.match(errors[0]!.message, /Cannot write tape .* shows what looks like a secret \(api-key\)/);
    assert.equal(existsSync(join(folder, "leak")), false);
  });
});

test("U16: a known secret is masked in hex and in base64 too, however short, and never shown as the key of a refusal", () => {
  const secret = "hunter2!";
  const { text, find } = redactor({ env: { DB_PASSWORD: secret } });
  const bytes = Buffer.from(secret);
  for (
    const form of [bytes.toString("hex"), bytes.toString("hex").toUpperCase(), bytes.toString("base64").slice(0, 10)]
  ) {
    assert.ok(!text(`it is ${form}, I think`).includes(form), form);
  }
  const wrapped = Buffer.from(`DB_PASSWORD=${secret}\n`).toString("base64");
  assert.notEqual(text(wrapped), wrapped);
  const found = find({ input: { [secret]: { again: secret } } }, "line 1");
  assert.ok(found.length >= 2);
  assert.ok(!JSON.stringify(found).includes(secret), JSON.stringify(found));
});

test("the digests of lock files are not secrets, in whole files, in JSON and in differences", () => {
  const search = redactor({ env: {} });
  const digest = (length: number) =>
    `${chance(length, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}=`;
  const lines = [
    readFileSync("bun.lock", "utf8"),
    `      "integrity": "sha512-${digest(86)}="`,
    `+    resolution: {integrity: sha512-${digest(86)}=}`,
    `  integrity sha1-${digest(27)}`,
    `github.com/davecgh/go-spew v1.1.1 h1:${digest(43)}\ngolang.org/x/text v0.3.0/go.mod h1:${digest(43)}`,
    `"narHash": "sha256-${digest(43)}"`,
  ];
  for (const text of lines) {
    assert.deepEqual(search.find(text), [], text.slice(0, 60));
    assert.deepEqual(search.find(JSON.stringify({ text })), [], text.slice(0, 60));
  }
  assert.equal(search.find(`sha512-short ${chance(40)}`).length, 1, "what stands behind is still looked at");
});
