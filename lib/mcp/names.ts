/** What a tool's name may be at most. */
const LONGEST = 128;

/**
 * A server's name as part of its tools' names. Never holds `__` and never ends in `_`: otherwise a permission
 * rule for one server would hold for the tools of another.
 */
export function serverPart(name: string): string {
  return plain(name).replace(/_{2,}/g, "_").replace(/^_|_$/g, "").slice(0, 48).replace(/_$/, "") || "server";
}

/** The names under which a server's tools are offered, in order and all different. */
export function toolNames(server: string, tools: readonly string[]): string[] {
  const taken = new Set<string>();
  return tools.map((tool) => {
    const full = `mcp__${serverPart(server)}__${plain(tool) || "tool"}`;
    let name = full.slice(0, LONGEST);
    for (let n = 2; taken.has(name); n++) name = `${full.slice(0, LONGEST - 1 - String(n).length)}_${n}`;
    taken.add(name);
    return name;
  });
}

function plain(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_");
}
