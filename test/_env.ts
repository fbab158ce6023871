/** Sets variables of the environment for as long as `work` takes; undefined takes one away. */
export async function withEnv<T>(
  env: { readonly [name: string]: string | undefined },
  work: () => T | Promise<T>,
): Promise<T> {
  const before = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));
  set(env);
  try {
    return await work();
  } finally {
    set(before);
  }
}

function set(env: { readonly [name: string]: string | undefined }): void {
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}
