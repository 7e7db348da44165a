// Starts of a model that are made by hand.

// Another start. A prescribed motion begins there: its start, or the middle of a sine, is moved.
export function withStart(table, { theta, omega }) {
  const { links, start } = table, by = (i) => theta[i] - start.theta[i], driven = Array.isArray(links) && links.some(({ motion }, i) => motion && by(i));
  return { ...table, start: { theta: [...theta], omega: [...omega] }, ...(driven ? { links: links.map((row, i) => (row.motion && by(i) ? { ...row, motion: shifted(row.motion, by(i)) } : row)) } : {}) };
}

function shifted(motion, by) {
  if (Array.isArray(motion)) {
    const k = motion.findIndex((each) => keyOf(each));
    return motion.map((each, i) => (i === k ? shifted(each, by) : each));
  }
  const key = keyOf(motion);
  return key ? { ...motion, [key]: (motion[key] ?? 0) + by } : motion;
}

function keyOf(motion) {
  return "amplitude" in motion ? "offset" : "rate" in motion ? "start" : "";
}
