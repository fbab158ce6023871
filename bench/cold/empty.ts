console.log(JSON.stringify(process.cpuUsage()));
