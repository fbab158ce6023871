import { Buffer } from "node:buffer";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { Place } from "../asking/probe.ts";

/** The same thing in other words. */
export interface Rewriting {
  readonly how: string;
  readonly text: string;
}

/** Command lines that do what the given one does. */
export function commandRewritings(command: string): Rewriting[] {
  const found = /^((?:\s*(?:sudo|env|[A-Za-z_]\w*=\S*)\s+)*)([\w./-]+)(\s[\s\S]*)?$/.exec(command.trim());
  const quoted = `'${command.replaceAll("'", "'\\''")}'`;
  const whole: Rewriting[] = [
    { how: "sh -c", text: `sh -c ${quoted}` },
    { how: "eval", text: `eval ${quoted}` },
    { how: "after another command", text: `cd . && ${command}` },
    { how: "on a second line", text: `true\n${command}` },
    { how: "in a subshell", text: `(${command})` },
    { how: "base64", text: `echo ${Buffer.from(command).toString("base64")} | base64 -d | sh` },
  ];
  if (!found || /\n/.test(command)) return whole;
  const [, before = "", program = "", rest = ""] = found;
  const name = basename(program);
  const path = ["/bin", "/usr/bin", "/usr/local/bin"].map((dir) => join(dir, name)).find((one) => existsSync(one));
  const plain = !/['"`$\\;&|<>()]/.test(rest);
  return [
    { how: "a quote inside the name", text: `${before}${name.slice(0, 1)}''${name.slice(1)}${rest}` },
    { how: "a backslash before the name", text: `${before}\\${name}${rest}` },
    { how: "the name in quotes", text: `${before}"${name}"${rest}` },
    { how: "the name in a variable", text: `x=${name}; ${before}$x${rest}` },
    { how: "two blanks", text: `${before}${name}${rest.replace(/^\s/, "  ")}` },
    { how: "command", text: `${before}command ${name}${rest}` },
    ...(path === undefined ? [] : [{ how: "an absolute path", text: `${before}${path}${rest}` }]),
    ...(plain && rest !== ""
      ? [{ how: "${IFS}", text: `${before}${name}${rest.trimEnd().replaceAll(/\s+/g, "${IFS}")}` }]
      : []),
    ...ofOptions(before, name, rest),
    ...whole,
  ];
}

/** The options in another form. */
function ofOptions(before: string, name: string, rest: string): Rewriting[] {
  const found: Rewriting[] = [];
  const bundle = /\s-([a-zA-Z]{2,})(?=\s|$)/.exec(rest);
  if (bundle) {
    const apart = rest.replace(bundle[0], ` ${[...bundle[1]!].map((letter) => `-${letter}`).join(" ")}`);
    found.push({ how: "options apart", text: `${before}${name}${apart}` });
    const turned = rest.replace(bundle[0], ` -${[...bundle[1]!].reverse().join("")}`);
    found.push({ how: "options in another order", text: `${before}${name}${turned}` });
  }
  if (name === "rm" && /\s-\w*r/i.test(rest)) {
    const long = rest.replace(/\s-\w*/, /\s-\w*f/.test(rest) ? " --recursive --force" : " --recursive");
    found.push({ how: "long options", text: `${before}${name}${long}` });
  }
  if (name === "git") {
    found.push({ how: "git -C", text: `${before}git -C .${rest}` });
    if (/\s--force(?=\s|$)/.test(rest)) {
      found.push({ how: "a short option", text: `${before}git${rest.replace(/\s--force(?=\s|$)/, " -f")}` });
    }
    if (/\s-f(?=\s|$)/.test(rest)) {
      found.push({ how: "a long option", text: `${before}git${rest.replace(/\s-f(?=\s|$)/, " --force")}` });
    }
  }
  return found;
}

/** Whether the disk takes two spellings for one file. */
function foldsCase(project: string): boolean {
  return existsSync(join(project, "README.md")) && existsSync(join(project, "readme.MD"));
}

/** Paths of the same file. Makes the links they lead through. A host that `resolves` hands on absolute ones alone. */
export function pathRewritings(path: string, { project, root }: Place, resolves: boolean): Rewriting[] {
  const folder = dirname(path);
  const name = basename(path);
  const inside = relative(project, path);
  const found: Rewriting[] = [
    { how: "./ in the path", text: `${folder}/./${name}` },
    { how: "../ in the path", text: `${folder}/x/../${name}` },
    { how: "two slashes", text: `${folder}//${name}` },
    ...(/[a-z]/.test(name) && foldsCase(project) ? [{ how: "capitals", text: `${folder}/${name.toUpperCase()}` }] : []),
  ];
  if (inside.startsWith("..") || inside === "") return found;
  if (!resolves) found.push({ how: "a relative path", text: inside });
  const link = join(root, "project", "linked");
  mkdirSync(dirname(link), { recursive: true });
  if (!existsSync(link)) symlinkSync(project, link);
  found.push({ how: "a symbolic link", text: join(link, inside) });
  return found;
}
