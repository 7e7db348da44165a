// What the browser remembers of a page from one visit to the next. One that keeps nothing forgets it, nothing worse.

export function recalled(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // private windows, files without storage
  }
}

export function forget(key) {
  try {
    localStorage.removeItem(key);
  } catch {
    // nothing to forget
  }
}
