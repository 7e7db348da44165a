// A model in the part of the address behind #: nothing of it is sent anywhere but to the studio on this machine.

import { forget, recalled, remember } from "/web/memory.js";

const KEY = "nlink-brought";
const SIGN = "#model=";

// The address that opens a studio with a model.
export function addressOf(table) {
  return `${location.origin}/${SIGN}${encodeURIComponent(JSON.stringify(table))}`;
}

// The text of a model that the address has, or that came while no studio knew this page; null if there is none. It is taken once.
export function brought() {
  const { hash } = location, text = hash.startsWith(SIGN) ? hash.slice(SIGN.length) : recalled(KEY);
  forget(KEY);
  if (hash) history.replaceState(null, "", location.pathname + location.search);
  return text;
}

// Keep a model until the right address is opened.
export function keep(text) {
  remember(KEY, text);
}

// The tables of such a text; null if it holds none.
export function tablesOf(text) {
  try {
    const found = JSON.parse(decodeURIComponent(text));
    return found && typeof found === "object" ? found : null;
  } catch {
    return null;
  }
}
