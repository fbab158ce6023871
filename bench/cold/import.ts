import "../../lib/index.ts";

console.log(JSON.stringify(process.cpuUsage()));
