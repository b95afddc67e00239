// The one place that talks to the server: the token, the time limit, and
// errors in words.

const KEY = "forebay-token";
const PATIENCE_MS = 10_000;

/** The server's refusal; `status` is 0 when it did not answer at all. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let token = null;
try {
  token = sessionStorage.getItem(KEY);
} catch {
  // A browser that keeps nothing asks again for each page.
}

export const hasToken = () => token !== null;

/** Keeps a token as long as the tab is open; `null` forgets it. */
export function setToken(text) {
  token = text;
  try {
    if (text === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, text);
  } catch {
    // As above.
  }
}

/** Begins a request; gives the response when its status is good. */
export async function open(method, path, { body, signal } = {}) {
  const headers = {};
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method, headers, signal, cache: "no-store", credentials: "omit",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted && signal.reason?.name !== "TimeoutError") throw error;
    throw new Refused(0, "the server does not answer");
  }
  if (!response.ok) throw new Refused(response.status, await words(response));
  return response;
}

/** A whole exchange: JSON in, JSON out. */
export async function ask(method, path, body) {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await open(method, path, { body, signal });
  try {
    return await response.json();
  } catch {
    throw new Refused(0, "the server's answer broke off");
  }
}

export const get = (path) => ask("GET", path);

/** `?a=b&c=d` of what has a value. */
export function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value != null);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

async function words(response) {
  const text = await response.text().catch(() => "");
  try {
    return String(JSON.parse(text).error);
  } catch {
    return text.trim() || `status ${response.status}`;
  }
}
