// Before the first paint: the theme, and the first requests, so that their answers are there when the page is.
{
  const kept = name => { try { return localStorage.getItem(name); } catch { return null; } };
  const fragment = new URLSearchParams(location.hash.slice(1));
  // The theme that the address or an earlier visit chose. Without one the system's is used.
  const theme = fragment.get("theme") ?? kept("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;

  // Several servers below paths of one proxy share one storage, so each has a key of its own. The folder of the page has
  // no slash at its end: it is empty unless a proxy has the page below a path.
  const keyName = `perfset-key${location.pathname.replace(/\/[^/]*$/, "")}`;
  const token = new URLSearchParams(location.search).get("token");
  const key = kept(keyName);
  const ask = (address, headers) => {
    const answer = fetch(address, { cache: "no-store", headers });
    // Whoever waits for it hears of a failure.
    answer.catch(() => {});
    return answer;
  };
  const log = fragment.get("log");
  const about = `api/about${log ? `?${new URLSearchParams({ log })}` : ""}`;
  const who = token !== null ? { Authorization: `Bearer ${token}` } : key !== null ? { "Perfset-Key": key } : {};
  // The token itself is enough to ask about the machine, without waiting for the login. A log can be one that only this
  // login has sent.
  const isEnough = token === null || !log;
  globalThis.early = {
    keyName,
    login: token === null ? null : ask("api/login", key === null ? who : { ...who, "Perfset-Key": key }),
    about: isEnough ? ask(about, who) : null,
  };
}
