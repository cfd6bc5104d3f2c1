// Before the first paint: the theme that the address or an earlier visit chose. Without one the system's is used.
{
  const kept = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const theme = new URLSearchParams(location.hash.slice(1)).get("theme") ?? kept();
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
