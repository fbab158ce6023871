/** Turns a run that calls back into one that is iterated; a reader who leaves ends the run. */
export async function* streamed<T, R>(
  start: (on: (event: T) => void, left: AbortSignal) => Promise<R>,
): AsyncGenerator<T, R> {
  const queue: T[] = [];
  const leaving = new AbortController();
  let wake: (() => void) | undefined;
  let ended = false;
  const running = start((event) => {
    queue.push(event);
    wake?.();
  }, leaving.signal).finally(() => {
    ended = true;
    wake?.();
  });
  running.catch(() => {}); // thrown to the reader below, once what came before is read
  try {
    while (!ended || queue.length > 0) {
      if (queue.length > 0) yield queue.shift()!;
      else await new Promise<void>((resolve) => wake = resolve);
    }
    return await running;
  } finally {
    leaving.abort(new Error("The reader left"));
    await running.catch(() => {});
  }
}
