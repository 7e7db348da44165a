// Round numbers for scales and grids, and how numbers are written.

const DEGREES = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 45, 90, 180, 360, 720, 1800, 3600, 7200, 18000, 36000];

// The smallest of 1, 2, 5 times a power of ten that is not below `least`.
export function roundStep(least) {
  if (!(least > 0) || !Number.isFinite(least)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((m) => m * power >= least * (1 - 1e-9));
}

export function tickStep(low, high, count, degrees = false) {
  const least = (high - low) / Math.max(1, count);
  return (degrees && least > 0.05 && DEGREES.find((step) => step >= least)) || roundStep(least);
}

export function multiples(low, high, step) {
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9) && out.length < 200; k++) out.push(k * step);
  return out;
}

export function minus(text) {
  return text.replace(/-/g, "\u2212");
}

// A number on a scale with this step: no more digits than the step has.
export function tickText(value, step) {
  const size = Math.max(Math.abs(value), step);
  if (Math.abs(value) < step / 2) return "0";
  if (size >= 1e5 || step < 1e-3) return minus(Number(value.toPrecision(3)).toExponential().replace("e+", "e"));
  return minus(value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))));
}

// A value in a readout: `digits` significant ones.
export function valueText(value, digits = 4) {
  if (!Number.isFinite(value)) return "\u2013";
  const size = Math.abs(value);
  if (size > 0 && (size >= 1e6 || size < 1e-4)) return minus(value.toExponential(digits - 2).replace("e+", "e"));
  return minus(String(Number(value.toPrecision(digits))));
}

// Decimals that a clock over this span needs: two, more for a span shorter than a second.
export function clockDecimals(span) {
  return span > 0 ? Math.min(9, Math.max(2, 2 - Math.floor(Math.log10(span)))) : 2;
}

// The ends of an axis about these values, with some air, never empty.
export function padded(low, high, share = 0.06) {
  if (!(high >= low) || !Number.isFinite(high - low)) return [-1, 1];
  const least = Math.max(Math.abs(low), Math.abs(high)) * 1e-9 || 1e-9;
  const pad = high - low > least ? share * (high - low) : Math.max(0.5 * Math.abs(high), 1e-6);
  return [low - pad, high + pad];
}

// The index of the interval that holds t; times increase, or decrease in a run backwards.
export function intervalAt(times, t) {
  const sign = times[times.length - 1] < times[0] ? -1 : 1;
  let low = 0, high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sign * (t - times[middle]) >= 0) low = middle;
    else high = middle;
  }
  return low;
}

export function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
