// Ed25519 signatures (RFC 8032 §5.1.7): by the browser where it knows them, otherwise worked out here.

const P = 2n ** 255n - 19n;
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const mod = (value, by = P) => { const rest = value % by; return rest < 0n ? rest + by : rest; };
const power = (base, exponent) => {
  let out = 1n;
  for (let square = mod(base); exponent > 0n; exponent >>= 1n, square = mod(square * square)) {
    if (exponent & 1n) out = mod(out * square);
  }
  return out;
};
const invert = (value) => power(value, P - 2n);
const D = mod(-121665n * invert(121666n));
const ROOT_OF_MINUS_ONE = power(2n, (P - 1n) / 4n);

/** A point as (X, Y, Z, T), with x = X/Z, y = Y/Z and xy = T/Z. */
const ZERO = [0n, 1n, 1n, 0n];

const add = ([x1, y1, z1, t1], [x2, y2, z2, t2]) => {
  const a = mod((y1 - x1) * (y2 - x2));
  const b = mod((y1 + x1) * (y2 + x2));
  const c = mod(2n * D * t1 * t2);
  const d = mod(2n * z1 * z2);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
};

const times = (scalar, point) => {
  let out = ZERO;
  for (let doubled = point; scalar > 0n; scalar >>= 1n, doubled = add(doubled, doubled)) {
    if (scalar & 1n) out = add(out, doubled);
  }
  return out;
};

const number = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

/** The point that 32 bytes stand for; undefined for those that stand for none. */
function decode(bytes) {
  const whole = number(bytes);
  const y = mod(whole & (2n ** 255n - 1n));
  const [u, v] = [mod(y * y - 1n), mod(D * y * y + 1n)];
  let x = mod(u * power(v, 3n) * power(u * power(v, 7n), (P - 5n) / 8n));
  const square = mod(v * x * x);
  if (square === mod(-u)) x = mod(x * ROOT_OF_MINUS_ONE);
  else if (square !== u) return undefined;
  if ((x & 1n) !== whole >> 255n) x = mod(-x);
  return [x, y, 1n, mod(x * y)];
}

function encode([x, y, z]) {
  const inverse = invert(z);
  let whole = mod(y * inverse) | ((mod(x * inverse) & 1n) << 255n);
  return Uint8Array.from({ length: 32 }, () => { const byte = Number(whole & 255n); whole >>= 8n; return byte; });
}

const BASE = decode(Uint8Array.from({ length: 32 }, (_, place) => (place === 0 ? 0x58 : 0x66)));

/** Whether `signature` is that of the 32 bytes `key` over `message`, worked out here. */
export async function verifyHere(key, message, signature) {
  if (key.length !== 32 || signature.length !== 64) return false;
  const [r, s] = [signature.slice(0, 32), number(signature.slice(32))];
  const point = decode(key);
  // A second spelling of one signature is none (RFC 8032 §5.1.7, step 1).
  if (point === undefined || s >= L) return false;
  const hashed = new Uint8Array(await crypto.subtle.digest('SHA-512', Uint8Array.from([...r, ...key, ...message])));
  const [x, y, z, t] = times(mod(number(hashed), L), point);
  const found = encode(add(times(s, BASE), [mod(-x), y, z, mod(-t)]));
  return found.every((byte, place) => byte === r[place]);
}

/** The browser's own verification; undefined where it has none. */
async function verifyByBrowser(key, message, signature) {
  try {
    const imported = await crypto.subtle.importKey('raw', key, { name: 'Ed25519' }, false, ['verify']);
    return await crypto.subtle.verify({ name: 'Ed25519' }, imported, signature, message);
  } catch {
    return undefined;
  }
}

/** Whether a signature holds, and by whom that was found. */
export async function verify(key, message, signature) {
  const browser = await verifyByBrowser(key, message, signature);
  if (browser !== undefined) return { holds: browser, by: 'the browser' };
  return { holds: await verifyHere(key, message, signature), by: 'this page, since the browser knows no Ed25519' };
}
