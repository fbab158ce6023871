import { exchangeOf } from "./_written.ts";
import {
  type Beside,
  type Exchange,
  type Fields,
  fieldsOf,
  type Format,
  ImportRefused,
  isFields,
  listOf,
  type Opened,
  topOf,
} from "./exchange.ts";

/** WireMock's recordings: one stub a file, all in one list, or one a document of YAML; long bodies are in `__files`, beside `mappings`. */
export const wiremock: Format = {
  name: "wiremock",
  about: "WireMock's mappings, with the bodies in __files",
  recognises: (file) => stubsOf(file)?.every(isStub) ?? false,
  read: (file) => inOrder(stubsOf(file)!).map((stub) => exchange(stub, file.beside)),
};

function stubsOf(file: Opened): readonly Fields[] | undefined {
  const top = topOf(file);
  const list = listOf(top, "mappings") ?? file.documents?.map(fieldsOf);
  return list && list.length > 0 ? list : top && [top];
}

const ADDRESSES = ["url", "urlPath", "urlPattern", "urlPathPattern", "urlPathTemplate"];

function isStub({ request, response }: Fields): boolean {
  if (!isFields(request) || !isFields(response)) return false;
  const marked = "bodyPatterns" in request || ["bodyFileName", "jsonBody", "base64Body"].some((key) => key in response);
  return marked && ADDRESSES.some((key) => typeof request[key] === "string");
}

/** The list of a running server begins with the newest. */
function inOrder(stubs: readonly Fields[]): readonly Fields[] {
  const numbered = stubs.every(({ insertionIndex }) => typeof insertionIndex === "number");
  return numbered ? [...stubs].sort((a, b) => Number(a.insertionIndex) - Number(b.insertionIndex)) : stubs;
}

function exchange(stub: Fields, beside: Beside | undefined): Exchange {
  const request = fieldsOf(stub.request);
  const response = fieldsOf(stub.response);
  const address = ADDRESSES.map((key) => request[key]).find((given) => typeof given === "string");
  return exchangeOf({
    method: request.method,
    url: String(address),
    requestHeaders: matched(fieldsOf(request.headers)),
    request: askedBody(request.bodyPatterns),
    status: response.status ?? 200,
    headers: response.headers,
    body: () => bodyOf(response, beside),
  });
}

function matched(headers: Fields): Fields {
  return Object.fromEntries(Object.entries(headers).map(([name, by]) => [name, fieldsOf(by).equalTo]));
}

/** A stub that was written by hand may only say what a body has in it: then the request was not recorded. */
function askedBody(patterns: unknown): unknown {
  for (const { equalToJson, equalTo, binaryEqualTo } of Array.isArray(patterns) ? patterns.map(fieldsOf) : []) {
    if (binaryEqualTo !== undefined) return { b64: binaryEqualTo };
    if (equalToJson !== undefined || equalTo !== undefined) return equalToJson ?? equalTo;
  }
  return undefined;
}

function bodyOf({ body, jsonBody, base64Body, bodyFileName }: Fields, beside: Beside | undefined): unknown {
  if (bodyFileName === undefined) {
    return body ?? jsonBody ?? (base64Body === undefined ? undefined : { b64: base64Body });
  }
  const bytes = beside?.("../__files", String(bodyFileName));
  if (!bytes) throw new ImportRefused(`its body is in another file that is not there: ../__files/${bodyFileName}`);
  return bytes;
}
