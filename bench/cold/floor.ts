const response = await fetch(`${process.env.ANTHROPIC_BASE_URL}/v1/messages`, {
  method: "POST",
  headers: {
    "content-type": "application/json",
    authorization: "Bearer k",
    "anthropic-version": "2026-10-21",
  },
  body: JSON.stringify({
    model: "claude-bench",
    max_tokens: 1000,
    stream: true,
    messages: [{ role: "user", content: "hi" }],
  }),
});
await response.text();

console.log(JSON.stringify(process.cpuUsage()));
