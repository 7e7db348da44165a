// Inflates a zlib stream (RFC 1950, 1951), for browsers without DecompressionStream.

const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const DISTANCES = [], DISTANCE_BITS = [];
for (let k = 0, base = 1; k < 30; k++) {
  DISTANCE_BITS.push(k < 2 ? 0 : (k >> 1) - 1);
  DISTANCES.push(base);
  base += 1 << DISTANCE_BITS[k];
}

// A prefix code: how many words of each length, and the symbols in order of their words.
function prefixCode(lengths) {
  const counts = new Uint16Array(16), offsets = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  for (let k = 1; k < 16; k++) offsets[k] = offsets[k - 1] + counts[k - 1];
  lengths.forEach((length, symbol) => { if (length) symbols[offsets[length]++] = symbol; });
  return { counts, symbols };
}

class Bits {
  constructor(bytes) {
    Object.assign(this, { bytes, at: 2, held: 0, count: 0 });
  }

  take(need) {
    while (this.count < need) {
      if (this.at >= this.bytes.length) throw new Error("damaged data");
      this.held |= this.bytes[this.at++] << this.count;
      this.count += 8;
    }
    const value = this.held & ((1 << need) - 1);
    this.held >>>= need;
    this.count -= need;
    return value;
  }

  symbol({ counts, symbols }) {
    let code = 0, first = 0, index = 0;
    for (let length = 1; length < 16; length++) {
      code |= this.take(1);
      const count = counts[length];
      if (code - count < first) return symbols[index + code - first];
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw new Error("damaged data");
  }
}

function fixedCodes() {
  const lengths = Array.from({ length: 288 }, (_, k) => (k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8));
  return [prefixCode(lengths), prefixCode(new Array(30).fill(5))];
}

function writtenCodes(bits) {
  const literals = bits.take(5) + 257, distances = bits.take(5) + 1, used = bits.take(4) + 4;
  const short = new Array(19).fill(0);
  for (let k = 0; k < used; k++) short[ORDER[k]] = bits.take(3);
  const code = prefixCode(short), lengths = [];
  while (lengths.length < literals + distances) {
    const symbol = bits.symbol(code);
    if (symbol < 16) lengths.push(symbol);
    else {
      const value = symbol === 16 ? lengths[lengths.length - 1] : 0;
      const times = symbol === 16 ? 3 + bits.take(2) : symbol === 17 ? 3 + bits.take(3) : 11 + bits.take(7);
      for (let k = 0; k < times; k++) lengths.push(value);
    }
  }
  return [prefixCode(lengths.slice(0, literals)), prefixCode(lengths.slice(literals))];
}

export function inflate(bytes) {
  const bits = new Bits(bytes);
  let out = new Uint8Array(8 * bytes.length + 1024), size = 0, last = false;
  const room = (more) => {
    if (size + more <= out.length) return;
    const larger = new Uint8Array(2 * (size + more));
    larger.set(out);
    out = larger;
  };
  while (!last) {
    last = bits.take(1) === 1;
    const kind = bits.take(2);
    if (kind === 0) {
      bits.held = bits.count = 0;
      const length = bytes[bits.at] | (bytes[bits.at + 1] << 8);
      room(length);
      out.set(bytes.subarray(bits.at + 4, bits.at + 4 + length), size);
      size += length;
      bits.at += 4 + length;
      continue;
    }
    const [literal, distance] = kind === 1 ? fixedCodes() : writtenCodes(bits);
    for (let symbol = bits.symbol(literal); symbol !== 256; symbol = bits.symbol(literal)) {
      room(258);
      if (symbol < 256) out[size++] = symbol;
      else {
        const length = LENGTHS[symbol - 257] + bits.take(LENGTH_BITS[symbol - 257]);
        const far = bits.symbol(distance), back = DISTANCES[far] + bits.take(DISTANCE_BITS[far]);
        for (let k = 0; k < length; k++, size++) out[size] = out[size - back];
      }
    }
  }
  return out.slice(0, size);
}
