// Server-sent events, read with `fetch`: unlike `EventSource` that can send a header.

/** The largest event that is read, in characters: what is longer is not of this server. */
const LENGTH_MAX = 64e6;

/** Calls `event({name, id, data})` for each event of a response, until it ends. Throws if the connection is lost. */
export async function read(response, event) {
  const parse = parser(event);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parse(value);
  }
}

/** Takes a text piece by piece, and calls `event` for each event in it. */
export function parser(event) {
  let pieces = [];
  let length = 0;
  return piece => {
    // An event ends with an empty line, which may come in two pieces.
    let from = 0;
    for (;;) {
      const joins = from === 0 && piece.startsWith("\n") && pieces.at(-1)?.endsWith("\n");
      const end = joins ? -1 : piece.indexOf("\n\n", from);
      if (end < 0 && !joins) break;
      pieces.push(piece.slice(from, joins ? 0 : end));
      const text = pieces.join("");
      pieces = [];
      length = 0;
      from = joins ? 1 : end + 2;
      one(text, event);
    }
    if (from < piece.length) pieces.push(piece.slice(from));
    length += piece.length - from;
    if (length > LENGTH_MAX) throw new Error("an event has no end");
  };
}

function one(text, event) {
  const found = { name: "message", id: null, data: null };
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (colon <= 0) continue; // a comment, or nothing
    if (line.startsWith("event:")) found.name = value;
    else if (line.startsWith("id:")) found.id = value;
    else if (line.startsWith("data:")) found.data = found.data === null ? value : `${found.data}\n${value}`;
  }
  if (found.data !== null) event(found);
}
