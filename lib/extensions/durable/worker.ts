import { once } from "node:events";
import { resolve } from "node:path";
import { giftOf } from "../../cli/kit/extension.ts";
import { expectGiven } from "../../cli/kit/run-gifts.ts";
import { command, numberFlag, PORT, type Usage } from "../../cli/kit/flags.ts";
import { EXIT } from "../../cli/kit/io.ts";
import { builtIn, loadAgent } from "../../cli/kit/script.ts";

const USAGE: Usage = {
  name: "worker",
  words: "[agent.ts…]",
  about: "Serves agents to a Restate server, which sends runs to this worker and to others at the same address.",
  flags: [
    ["--admin <url>", "the server's admin address, to register with (http://127.0.0.1:9070)"],
    [
      "--ingress <url>",
      "the server's ingress address as seen by this worker (default: the one a run was submitted to)",
    ],
    ["--port <n>", "where to listen (9080); on Bun several workers can share it"],
    ["--host <address>", "the address to listen at (127.0.0.1); anyone who can reach it can run the agents"],
    ["--url <url>", "the address of this worker as seen by the server, if it differs"],
    ["--key <publickeyv1_…>", "only accept requests signed by a server with this key"],
    ["--fixtures", "run the fixtures of this directory for 'crochet eval --on'"],
    ["--trust", "with --fixtures: trust them, as 'crochet replay --trust' does"],
  ],
  example: "crochet worker agent.ts --admin http://127.0.0.1:9070",
  passes: true,
};

export default command(USAGE, async ({ words, flags }, io) => {
  const port = numberFlag(flags, "port", PORT) ?? 9080;
  const agents = await Promise.all(words.map((script) => loadAgent(resolve(io.cwd, script))));
  const { serve } = await import("./restate.ts");
  const served = await serve(agents.length > 0 ? agents : [await builtIn()], {
    port,
    ...(flags.host !== undefined && { host: String(flags.host) }),
    ...(flags.ingress !== undefined && { ingress: String(flags.ingress) }),
    ...(flags.key !== undefined && { identityKeys: [String(flags.key)] }),
    ...(flags.fixtures === true && {
      attempt: async (request) =>
        await expectGiven(await giftOf("attempt"), "--fixtures")(request, flags.trust === true, io),
    }),
  });
  const admin = String(flags.admin ?? "http://127.0.0.1:9070");
  try {
    await served.register(admin, flags.url === undefined ? undefined : String(flags.url));
    const names = agents.map(({ name }) => name).join(", ") || "the coding agent";
    io.out(`worker at ${served.url}, registered with ${admin}: ${names}\n`);
    if (!io.signal.aborted) await once(io.signal, "abort");
  } finally {
    await served.close();
  }
  return EXIT.ok;
});
