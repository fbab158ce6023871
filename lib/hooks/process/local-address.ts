import { BlockList, isIP } from "node:net";

const local = new BlockList();
for (
  const [net, bits] of [
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
    ["192.168.0.0", 16],
    ["224.0.0.0", 3],
  ] as const
) local.addSubnet(net, bits, "ipv4");
for (const [net, bits] of [["::", 127], ["fc00::", 7], ["fe80::", 10], ["ff00::", 8]] as const) {
  local.addSubnet(net, bits, "ipv6");
}

/** Whether an address is this machine, a private network, or nowhere at all. */
export function isLocalAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  const mapped = mappedV4(bare);
  if (mapped !== undefined) return local.check(mapped, "ipv4");
  const version = isIP(bare);
  return version !== 0 && local.check(bare, version === 4 ? "ipv4" : "ipv6");
}

/** The IPv4 address inside `::ffff:127.0.0.1`, also where a URL has written it `::ffff:7f00:1`. */
function mappedV4(address: string): string | undefined {
  const [, dotted, high, low] = /^::ffff:(?:([\d.]+)|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/i.exec(address) ?? [];
  if (dotted !== undefined) return dotted;
  if (high === undefined) return undefined;
  const [a, b] = [parseInt(high, 16), parseInt(low!, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join(".");
}
