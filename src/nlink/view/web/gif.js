// Writes a GIF: frames of up to 255 colours, of which each holds only the pixels that have changed since the one before.

const CLEAR = 255;
const LEVELS = 32;
const MOST_CODES = 4096;

// Numbers the colours that frames need, nearest ones together.
export class Palette {
  constructor() {
    this.counts = new Uint32Array(LEVELS ** 3);
  }

  // Count the colours of a frame: RGBA bytes.
  see(pixels) {
    for (let k = 0; k < pixels.length; k += 4) this.counts[cell(pixels, k)]++;
  }

  // Choose the most frequent colours, and for each cell of the colour cube the nearest of them.
  settle() {
    const used = [...this.counts.keys()].filter((at) => this.counts[at]).sort((a, b) => this.counts[b] - this.counts[a]);
    this.colours = used.slice(0, CLEAR).map(middle);
    this.nearest = new Uint8Array(LEVELS ** 3);
    for (const at of used) {
      const [r, g, b] = middle(at), distances = this.colours.map((each) => (each[0] - r) ** 2 + (each[1] - g) ** 2 + (each[2] - b) ** 2);
      this.nearest[at] = distances.indexOf(Math.min(...distances));
    }
  }

  indices(pixels) {
    const out = new Uint8Array(pixels.length / 4);
    for (let k = 0; k < out.length; k++) out[k] = this.nearest[cell(pixels, 4 * k)];
    return out;
  }

  bytes() {
    const out = new Uint8Array(3 * (CLEAR + 1));
    this.colours.forEach((colour, k) => out.set(colour, 3 * k));
    return out;
  }
}

function cell(pixels, k) {
  return ((pixels[k] >> 3) << 10) | ((pixels[k + 1] >> 3) << 5) | (pixels[k + 2] >> 3);
}

function middle(at) {
  return [at >> 10, (at >> 5) & 31, at & 31].map((part) => Math.round((part * 255) / (LEVELS - 1)));
}

export class Gif {
  constructor(width, height, palette) {
    Object.assign(this, { width, height, parts: [], last: null });
    const word = (value) => [value & 255, value >> 8], text = (letters) => [...letters].map((letter) => letter.charCodeAt(0));
    this.put([...text("GIF89a"), ...word(width), ...word(height), 0xf7, 0, 0]);
    this.parts.push(palette.bytes());
    this.put([0x21, 0xff, 11, ...text("NETSCAPE2.0"), 3, 1, 0, 0, 0, 0x21, 0xfe, 5, ...text("nlink"), 0]);
    this.word = word;
  }

  put(bytes) {
    this.parts.push(Uint8Array.from(bytes));
  }

  // A frame (numbers of colours) that stays for so many hundredths of a second.
  add(indices, delay) {
    const { width, height, last, word } = this, box = changed(indices, last, width, height), part = new Uint8Array(box.wide * box.high);
    for (let y = 0; y < box.high; y++) {
      for (let x = 0; x < box.wide; x++) {
        const at = (box.top + y) * width + box.left + x;
        part[y * box.wide + x] = last && last[at] === indices[at] ? CLEAR : indices[at];
      }
    }
    this.put([0x21, 0xf9, 4, 0x05, ...word(delay), CLEAR, 0, 0x2c, ...word(box.left), ...word(box.top), ...word(box.wide), ...word(box.high), 0, 8]);
    const coded = compressed(part);
    for (let k = 0; k < coded.length; k += 255) {
      const block = coded.subarray(k, k + 255);
      this.put([block.length]);
      this.parts.push(block);
    }
    this.put([0]);
    this.last = indices;
  }

  blob() {
    return new Blob([...this.parts, Uint8Array.of(0x3b)], { type: "image/gif" });
  }
}

// The smallest rectangle with all changes; one pixel if there are none.
function changed(now, last, width, height) {
  if (!last) return { left: 0, top: 0, wide: width, high: height };
  let left = width, right = -1, top = height, bottom = -1;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (now[y * width + x] === last[y * width + x]) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = y;
    }
  }
  return right < 0 ? { left: 0, top: 0, wide: 1, high: 1 } : { left, top, wide: right - left + 1, high: bottom - top + 1 };
}

// LZW with codes of growing length, bytes from their lowest bit.
function compressed(values) {
  const start = 256, end = 257, table = new Map();
  let out = new Uint8Array(values.length + 64), count = 0, buffer = 0, bits = 0, size = 9, next = 258;
  const put = (code) => {
    buffer |= code << bits;
    bits += size;
    while (bits >= 8) {
      if (count === out.length) out = Uint8Array.from({ length: 2 * count }, (_, k) => out[k] ?? 0);
      out[count++] = buffer & 255;
      buffer >>>= 8;
      bits -= 8;
    }
  };
  put(start);
  let prefix = values[0];
  for (let k = 1; k < values.length; k++) {
    const value = values[k], key = (prefix << 8) | value, known = table.get(key);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    put(prefix);
    if (next === MOST_CODES) {
      put(start);
      table.clear();
      [size, next] = [9, 258];
    } else {
      if (next === 1 << size) size++;
      table.set(key, next++);
    }
    prefix = value;
  }
  put(prefix);
  if (next === 1 << size && next < MOST_CODES) size++;
  put(end);
  size = 8;
  put(0);
  return out.subarray(0, count);
}
