import { exchangeOf } from "./_written.ts";
import { fieldsOf, type Format, isFields, type Opened } from "./exchange.ts";

/** Rust's httpmock: a document an exchange, `when` is the request and `then` the answer. */
export const httpmock: Format = {
  name: "httpmock",
  about: "Rust's httpmock, YAML documents with when and then",
  recognises: ({ documents }: Opened) =>
    documents !== undefined && documents.length > 0 &&
    documents.every((d) => isFields(d) && "when" in d && "then" in d),
  read: ({ documents }) =>
    documents!.map((document) => {
      const when = fieldsOf(fieldsOf(document).when);
      const then = fieldsOf(fieldsOf(document).then);
      const base64 = (given: unknown) => typeof given === "string" ? { base64_string: given } : undefined;
      return exchangeOf({
        method: when.method,
        url: String(when.path ?? ""),
        requestHeaders: when.header,
        request: when.json_body ?? when.body ?? base64(when.body_base64),
        status: then.status ?? 200,
        headers: then.header,
        body: () => then.json_body ?? then.body ?? base64(then.body_base64),
      });
    }),
};
