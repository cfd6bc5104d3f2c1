// Requests to the server, and the login that they need where the server asks for a token.
//
// A browser sends its cookies to every port of a host, so the cookie of the login is not enough for data. The second
// number, the key, is kept in this origin's storage, which no other port can read, and is sent as a header.
//
// All addresses are relative to that of the page: a proxy may have it below a path of its own.

/** Name of the key in the storage. */
const KEY = globalThis.early.keyName;

/** The key if the browser keeps nothing: it is good until the page is loaded anew. */
let unkept = null;

const kept = () => { try { return localStorage.getItem(KEY); } catch { return null; } };

function keep(key) {
  unkept = key;
  try { localStorage.setItem(KEY, key); } catch { /* a browser may keep nothing */ }
}

/** What people are told whose browser has no login of this server. */
export const LOG_IN = {
  error: "this browser is not logged in, or the server was restarted since",
  hints: ["open the address with ?token= that perfset serve printed, here or in another tab"],
};

/** Whether requests need the key, which a link does not send. */
export const isLoggedIn = () => (kept() ?? unkept) !== null;

/** The id of the log that is shown; null for what the server shows by itself. */
let log = null;
export const shownLog = () => log;
export const showLog = id => { log = id; };

/** The id of the log that the fragment of an address names; null for none. */
export const logOf = fragment => new URLSearchParams(fragment.replace(/^#/, "")).get("log") || null;

/** Requests that are about the log that is shown. */
const OF_LOG = /^api\/(?:v1\/)?(about|countersets|find|findings|query|range|report|stream|table)(?=[/?]|$)/;

/**
 * Asks the server, as `fetch` does. With `isChange`, it has what the server wants of those who change logs. `of` is the
 * id of the log that it is about: that which is shown, or null for what the server shows by itself.
 */
export function request(address, { headers, isChange, of = log, ...options } = {}) {
  const key = kept() ?? unkept ?? (isChange ? "none" : null);
  const query = of === null || !OF_LOG.test(address) ? "" : `${address.includes("?") ? "&" : "?"}${new URLSearchParams({ log: of })}`;
  return fetch(`${address}${query}`, { cache: "no-store", ...options, headers: { ...headers, ...(key === null ? {} : { "Perfset-Key": key }) } });
}

/** What a response that is no success says: `{error, hints}`. */
export const problemOf = async response =>
  response.status === 401 ? LOG_IN : response.json().catch(() => ({ error: `the server answers ${response.status}` }));

/**
 * Logs in with the token of the page's address, and takes the token out of it. Without one there is nothing to do.
 * Throws if the server cannot be reached.
 */
export async function logIn() {
  const query = new URLSearchParams(location.search);
  const token = query.get("token");
  if (token === null) return;
  // With the key that is there, the login stays the same, and has what it has sent.
  const sent = globalThis.early.login;
  globalThis.early.login = null;
  const response = await (sent ?? request("api/login", { headers: { Authorization: `Bearer ${token}` } }));
  const { key } = response.ok ? await response.json() : { key: null };
  if (key !== null) keep(key);
  query.delete("token");
  const rest = query.size ? `?${query}` : "";
  history.replaceState(history.state, "", `${location.pathname}${rest}${location.hash}`);
}

/** Calls back when another tab of this browser has logged in. */
export function onLogin(act) {
  addEventListener("storage", event => { if (event.key === KEY && event.newValue !== null) act(); });
}
