import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { server } from "./_tools.ts";

serveStdio(server, { legacy: process.argv.includes("--modern") ? "reject" : "serve" });
