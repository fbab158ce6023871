import { once } from "../core/maps.ts";
import type { Message } from "../core/messages.ts";

/** Messages that are made when somebody looks at them: most readers want few. */
export class Conversation {
  readonly #make: (() => Message)[];
  readonly #made: Message[] = [];

  constructor(make: (() => Message)[] = []) {
    this.#make = make;
  }

  get length(): number {
    return this.#make.length;
  }

  /** This with a message at an index; the same one, unless another stood there. */
  with(index: number, message: () => Message): Conversation {
    if (index < this.length) return new Conversation(this.#make.with(index, message));
    this.#make.push(message);
    return this;
  }

  slice(from: number, to: number): Message[] {
    for (let i = this.#made.length; i < to; i++) this.#made.push(this.#make[i]!());
    return this.#made.slice(from, to);
  }
}

/** Adds what is made when somebody first looks at it: all requests of a log are quadratic. */
export function later<T extends object, K extends string, V>(
  to: T,
  key: K,
  make: () => V,
): T & { readonly [key in K]: V } {
  return Object.defineProperty(to, key, { get: once(make), enumerable: true }) as T & { readonly [key in K]: V };
}
