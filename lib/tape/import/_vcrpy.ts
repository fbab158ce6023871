import { exchangeOf } from "./_written.ts";
import {
  type Exchange,
  type Fields,
  fieldsOf,
  type Format,
  ImportRefused,
  isFields,
  listOf,
  topOf,
} from "./exchange.ts";

/**
 * The recordings of Python's vcrpy and pytest-recording, in YAML or JSON; bodies may be text, bytes or parsed. What
 * was asked by httpx before version 6 has `status_code` and `content` instead.
 */
export const vcrpy: Format = {
  name: "vcrpy",
  about: "vcrpy or pytest-recording, YAML or JSON",
  recognises: (file) => {
    const first = listOf(topOf(file), "interactions")?.[0];
    return isFields(first?.request) && isFields(first.response) && ("uri" in first.request) &&
      (isFields(first.response.status) || ("status_code" in first.response && "content" in first.response));
  },
  read: (file) =>
    listOf(topOf(file), "interactions")!.map(({ request, response }) =>
      pythonExchange(fieldsOf(request), fieldsOf(response))
    ),
};

/** cassetter, in YAML or TOML, and ReqCassette: as vcrpy, but for a plain status and bodies that say what they are. */
export const cassetter: Format = {
  name: "cassetter",
  about: "cassetter, YAML or TOML",
  recognises: (file) => {
    const first = listOf(topOf(file), "interactions")?.[0];
    return isFields(first?.request) && isFields(first.response) && "uri" in first.request &&
      typeof first.response.status === "number";
  },
  read: (file) =>
    listOf(topOf(file), "interactions")!.map(({ request, response, recorded_at }) =>
      pythonExchange(withBody(fieldsOf(request)), withBody(fieldsOf(response)), recorded_at)
    ),
};

/** TOML has no null and no mixed lists: there a body is a text beside its type. ReqCassette has a field for each type. */
function withBody(side: Fields): Fields {
  const { body_type: type, body_content: content, body_json, body_blob } = side;
  if (body_json !== undefined) return { ...side, body: body_json };
  if (body_blob !== undefined) return { ...side, body: { b64: body_blob } };
  if (type === undefined || content === undefined) return side;
  return { ...side, body: { type: type === "json" ? "text" : type, content } };
}

/** LangChain's own: requests and responses in two lists, the whole file compressed. */
export const langchain: Format = {
  name: "langchain-gz",
  about: "LangChain's requests and responses, compressed or not",
  recognises: (file) => listOf(topOf(file), "requests") !== undefined && listOf(topOf(file), "responses") !== undefined,
  read: (file) => {
    const requests = listOf(topOf(file), "requests")!;
    const responses = listOf(topOf(file), "responses")!;
    if (requests.length !== responses.length) {
      throw new ImportRefused(`it has ${requests.length} requests and ${responses.length} responses`);
    }
    return requests.map((request, i) => pythonExchange(request, responses[i]!));
  },
};

/** Datadog's test agent: one exchange a file. */
export const ddapm: Format = {
  name: "ddapm-json",
  about: "one exchange of Datadog's test agent",
  recognises: (file) => {
    const { request, response } = fieldsOf(topOf(file));
    return isFields(request) && isFields(response) && "url" in request && isFields(response.status);
  },
  read: (file) => {
    const { request, response } = topOf(file)!;
    return [pythonExchange(fieldsOf(request), fieldsOf(response))];
  },
};

function pythonExchange(request: Fields, response: Fields, recordedAt?: unknown): Exchange {
  return exchangeOf({
    method: request.method,
    url: String(request.uri ?? request.url ?? ""),
    requestHeaders: request.headers,
    request: request.parsed_body ?? request.body,
    status: isFields(response.status) ? response.status.code : response.status ?? response.status_code,
    headers: response.headers,
    body: () => response.parsed_body ?? response.body ?? response.content,
    at: recordedAt,
  });
}
