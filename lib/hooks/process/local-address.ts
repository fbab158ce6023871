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

/** Whether an address is this machine, a private network, or nowhere at all; a list knows IPv4 written as IPv6. */
export function isLocalAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  const version = isIP(bare);
  return version !== 0 && local.check(bare, version === 4 ? "ipv4" : "ipv6");
}
