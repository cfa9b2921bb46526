// JSON read as strictly as the service reads it, and written in its one canonical spelling (RFC 8785).
//
// The browser's own JSON.parse forgets duplicate members and rounds numbers; a hash must not depend on either. Objects
// come as Map, numbers keep the text they were written as.

/** What was written is not JSON, or not JSON that means one thing only. */
export class Malformed extends Error {}

/** A number as it was written. */
export class Num {
  constructor(text) { this.text = text; }
  /** The whole number it is, from 0 to 2^53 - 1; undefined for every other. */
  whole() {
    if (!/^(0|[1-9][0-9]*)$/.test(this.text)) return undefined;
    const value = Number(this.text);
    return Number.isSafeInteger(value) ? value : undefined;
  }
}

const DEEPEST = 40;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]+/y;
const ESCAPES = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** Reads one JSON value; throws Malformed. */
export function parse(text) {
  if (!isWellFormed(text)) throw new Malformed('half a surrogate pair stands in the text');
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.blank();
  if (reader.at < text.length) throw reader.wrong('something stands after the value');
  return value;
}

class Reader {
  constructor(text) { this.text = text; this.at = 0; }

  wrong(why) { return new Malformed(`not JSON at character ${this.at + 1}: ${why}`); }

  blank() {
    while (' \t\n\r'.includes(this.text[this.at] ?? 'x')) this.at += 1;
  }

  value(depth) {
    this.blank();
    const next = this.text[this.at];
    if (next === '{') return this.object(this.deeper(depth));
    if (next === '[') return this.list(this.deeper(depth));
    if (next === '"') return this.string();
    for (const [word, value] of [['null', null], ['true', true], ['false', false]]) {
      if (this.text.startsWith(word, this.at)) { this.at += word.length; return value; }
    }
    return this.number();
  }

  deeper(depth) {
    if (depth >= DEEPEST) throw new Malformed(`nested deeper than ${DEEPEST}`);
    return depth + 1;
  }

  object(depth) {
    const members = new Map();
    this.items('}', () => {
      this.blank();
      if (this.text[this.at] !== '"') throw this.wrong('the name of a member is expected');
      const name = this.string();
      this.blank();
      if (this.text[this.at] !== ':') throw this.wrong('a colon is expected');
      this.at += 1;
      const value = this.value(depth);
      if (members.has(name)) throw new Malformed(`member ${JSON.stringify(name)} stands twice`);
      members.set(name, value);
    });
    return members;
  }

  list(depth) {
    const all = [];
    this.items(']', () => all.push(this.value(depth)));
    return all;
  }

  items(end, one) {
    this.at += 1;
    this.blank();
    if (this.text[this.at] === end) { this.at += 1; return; }
    for (;;) {
      one();
      this.blank();
      const next = this.text[this.at];
      if (next !== ',' && next !== end) throw this.wrong(`a comma or ${end} is expected`);
      this.at += 1;
      if (next === end) return;
    }
  }

  string() {
    this.at += 1;
    let out = '';
    for (;;) {
      out += this.match(PLAIN) ?? '';
      const next = this.text[this.at];
      if (next === '"') { this.at += 1; break; }
      if (next !== '\\') throw this.wrong('a text has no end, or holds a control character');
      out += this.escape();
    }
    if (!isWellFormed(out)) throw new Malformed('half a surrogate pair is escaped in a text');
    return out;
  }

  escape() {
    const letter = this.text[this.at + 1];
    if (letter === 'u') {
      const digits = this.text.slice(this.at + 2, this.at + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.wrong('four hex digits are expected');
      this.at += 6;
      return String.fromCharCode(parseInt(digits, 16));
    }
    if (letter === undefined || !Object.hasOwn(ESCAPES, letter)) throw this.wrong('there is no such escape');
    this.at += 2;
    return ESCAPES[letter];
  }

  number() {
    const text = this.match(NUMBER);
    if (text === undefined) throw this.wrong('a value is expected');
    if (!survives(text)) throw new Malformed(`number ${text.slice(0, 40)} does not survive as a double`);
    return new Num(text);
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }
}

function isWellFormed(text) {
  return !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
}

/** Whether a number, written again from the double it becomes, has the digits it had. */
function survives(text) {
  const double = Number(text);
  return Number.isFinite(double) && decimal(text) === decimal(String(double));
}

/** Sign, significant digits and the power of ten of the last of them; of zero the same, however it is written. */
function decimal(text) {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(text);
  const digits = (whole + fraction).replace(/0+$/, '');
  const significant = digits.replace(/^0+/, '');
  if (significant === '') return '0';
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(whole.length + fraction.length - digits.length);
  return `${sign}${significant}e${power}`;
}

/** The canonical text of a value. */
export function canonical(value) {
  if (value instanceof Num) return String(Object.is(Number(value.text), -0) ? 0 : Number(value.text));
  if (value instanceof Map) {
    // Texts compare by their UTF-16 code units here, which is the order RFC 8785 asks for.
    const names = [...value.keys()].sort((one, other) => (one < other ? -1 : 1));
    return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value.get(name))}`).join(',')}}`;
  }
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  return JSON.stringify(value);
}

/** The value at a JSON Pointer (RFC 6901), undefined where there is none. */
export function at(value, pointer) {
  if (pointer === '') return value;
  if (!pointer.startsWith('/')) return undefined;
  let here = value;
  for (const raw of pointer.slice(1).split('/')) {
    const name = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    if (here instanceof Map) here = here.get(name);
    else if (Array.isArray(here) && /^(0|[1-9][0-9]*)$/.test(name)) here = here[Number(name)];
    else return undefined;
  }
  return here;
}
