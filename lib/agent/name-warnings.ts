import type { HookList, HookRecord } from "../core/hook.ts";
import type { Tool } from "../core/tool.ts";

type Hooks = (again?: boolean) => HookList | Promise<HookList>;

/** The hooks of an agent; a name in one that no tool or field has is reported when the hook is first there. */
export function withNameWarnings(hooks: Hooks, tools: () => readonly Tool[], warn: (message: string) => void): Hooks {
  const looked = new WeakSet<HookRecord>();
  let last: readonly HookRecord[] | undefined;
  const look = async (list: HookList, fresh: readonly HookRecord[]): Promise<HookList> => {
    const { nameWarnings } = await import("../hooks/known-names.ts");
    const fields = tools().map(({ name, input_schema }) => [name, Object.keys(input_schema.properties ?? {})]);
    for (const record of fresh) {
      looked.add(record);
      for (const warning of nameWarnings(record, Object.fromEntries(fields))) warn(warning);
    }
    return list;
  };
  const seen = (list: HookList) => {
    const { records } = list;
    if (records === last) return list;
    last = records;
    const fresh = records.filter((one) => (one.namedTools ?? one.namedFields) && !looked.has(one));
    return fresh.length > 0 ? look(list, fresh) : list;
  };
  return (again) => {
    const list = hooks(again);
    return list instanceof Promise ? list.then(seen) : seen(list);
  };
}
