// Asks the API of the proxy that serves this page. Every call returns a promise of the answer's JSON, or throws an ApiError.
// With the session's cookie a change needs the field X-Bloomwall; browsers add Origin themselves.
// SPDX-License-Identifier: Apache-2.0

const base = "/api/v1";
const patience = 30_000; // milliseconds

export class ApiError extends Error {
  // `status`: 0 where there was no answer. `isMissing`: this proxy has no such path.
  constructor(status, title, detail, isMissing = false) {
    super(detail || title);
    Object.assign(this, { status, title, detail, isMissing });
  }
}

// Called when an answer says that nobody known asks any more.
let onSessionEnd = () => {};
export function whenSessionEnds(callback) {
  onSessionEnd = callback;
}

// Called with whether the proxy answers, each time that this is known anew.
let onReach = () => {};
export function whenReached(callback) {
  onReach = callback;
}

export function pathOf(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return base + path + (given.length ? "?" + new URLSearchParams(given) : "");
}

async function ask(method, path, { query, body, signal, tag } = {}) {
  const limit = AbortSignal.timeout(patience);
  let answer;
  try {
    answer = await fetch(pathOf(path, query), {
      method,
      cache: "no-store",
      credentials: "same-origin",
      headers: method === "GET" ? {} : { "X-Bloomwall": "1", "Content-Type": "application/json", ...(tag ? { "If-Match": tag } : {}) },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
  } catch (failed) {
    if (signal?.aborted) throw failed;
    onReach(false);
    throw new ApiError(0, "no answer", "");
  }
  onReach(true);
  if (answer.ok) return answer;
  const type = answer.headers.get("Content-Type") ?? "";
  const problem = type.startsWith("application/problem+json") ? await answer.json().catch(() => null) : null;
  if (answer.status === 401 && path !== "/session") onSessionEnd();
  throw new ApiError(answer.status, problem?.title ?? "", problem?.detail ?? "", answer.status === 404 && !problem);
}

export async function get(path, query, signal) {
  return (await ask("GET", path, { query, signal })).json();
}

// {data, tag}: with the ETag by which change() names what was seen.
export async function getTagged(path, signal) {
  const answer = await ask("GET", path, { signal });
  return { data: await answer.json(), tag: answer.headers.get("ETag") };
}

// POST, PUT or DELETE. `tag`: nothing is changed where this is not what getTagged() would give.
export async function change(method, path, body, tag) {
  return (await ask(method, path, { body, tag })).json();
}

// A POST that answers with one JSON text a line; returns them all once it is over.
export async function run(path) {
  const text = await (await ask("POST", path, {})).text();
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

// One segment of a path.
export const segment = encodeURIComponent;
