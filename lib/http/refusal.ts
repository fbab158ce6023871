/** What is read of an answer that refuses: enough for its words. */
const LONGEST_REFUSAL = 64 * 1024;

/**
 * As `fetch`, with an end to the body of an answer that refuses, after 64 KiB or `ms`: the SDK reads it whole, however
 * long it goes on.
 */
export function boundedFetch(ms: number): typeof fetch {
  const bounded = async (...request: Parameters<typeof fetch>): Promise<Response> => {
    const response = await fetch(...request);
    if (response.ok || !response.body) return response;
    const { headers, statusText } = response;
    const status = Math.min(response.status, 599); // a server may send any, and a Response takes no higher one
    return new Response(beginningOf(response.body, ms), { headers, statusText, status });
  };
  return bounded as typeof fetch;
}

function beginningOf(body: ReadableStream<Uint8Array>, ms: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let left = LONGEST_REFUSAL;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const cancel = async () => {
    clearTimeout(timer);
    await reader.cancel().catch(() => {}); // ends a pending read at once
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      timer ??= setTimeout(cancel, Math.min(ms, 2 ** 31 - 1));
      const { value } = await reader.read();
      if (value) controller.enqueue(value.subarray(0, left));
      left -= value?.length ?? 0;
      if (value && left > 0) return;
      controller.close();
      await cancel();
    },
    cancel,
  }, { highWaterMark: 0 }); // nothing is read, and no time runs, before it is read
}
