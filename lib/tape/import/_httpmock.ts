import { exchangeOf } from "./_written.ts";
import { fieldsOf, type Format, isFields, type Opened } from "./exchange.ts";

/**
 * Rust's httpmock: a document an exchange, `when` is the request and `then` the answer. A collection of replies has
 * only those.
 */
export const httpmock: Format = {
  name: "httpmock",
  about: "Rust's httpmock, YAML documents with when and then",
  recognises: ({ documents }: Opened) =>
    documents !== undefined && documents.length > 0 &&
    documents.every((d) => isFields(d) && isFields(d.then) && (isFields(d.when) || !("when" in d))),
  read: ({ documents }) =>
    documents!.map((document) => {
      const { when: asked } = fieldsOf(document);
      const when = fieldsOf(asked);
      const then = fieldsOf(fieldsOf(document).then);
      const base64 = (given: unknown) => typeof given === "string" ? { base64_string: given } : undefined;
      return exchangeOf({
        method: when.method,
        ...(asked !== undefined && { url: String(when.path ?? "") }),
        requestHeaders: when.header,
        request: when.json_body ?? when.body ?? base64(when.body_base64),
        status: then.status ?? 200,
        headers: then.header,
        body: () => then.json_body ?? then.body ?? base64(then.body_base64),
      });
    }),
};
