// A log's key and the signed head of its tree (C2SP signed-note, tlog-checkpoint).

import { verify } from './ed25519.js';

const MARK = '\u2014 ';
const MOST_SIGNATURES = 100;
const ED25519 = 1;
const utf8 = new TextEncoder();

/** What is wrong with a key, a note or a checkpoint. */
export class NoteError extends Error {}

export const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** SHA-256 over pieces of bytes and text. */
export async function sha256(...pieces) {
  const bytes = pieces.map((piece) => (typeof piece === 'string' ? utf8.encode(piece) : piece));
  const whole = new Uint8Array(bytes.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of bytes) { whole.set(piece, at); at += piece.length; }
  return new Uint8Array(await crypto.subtle.digest('SHA-256', whole));
}

/** Bytes in base64 with padding and no spare bits; undefined for every other spelling. */
function base64(text) {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
  const binary = atob(text);
  return btoa(binary) === text ? Uint8Array.from(binary, (letter) => letter.charCodeAt(0)) : undefined;
}

/** A key as `<name>+<id in hex>+<base64>`; its id must be that of name and key. */
export async function readKey(text) {
  const [name, id, encoded] = [text.split('+', 1)[0], ...split2(text)];
  const bytes = encoded === undefined ? undefined : base64(encoded);
  if (bytes === undefined || name === '' || /\s/u.test(name)) {
    throw new NoteError('it is not of the form <name>+<hex id>+<base64>');
  }
  if (bytes[0] !== ED25519 || bytes.length !== 33) throw new NoteError('it is not the Ed25519 key of a log');
  const wanted = hex((await sha256(name, '\n', bytes)).slice(0, 4));
  if (id !== wanted) throw new NoteError(`it says its id is ${id}, name and key make ${wanted}`);
  return { name, id, key: bytes.slice(1), text };
}

/** What stands between the first two plus signs, and all that follows. */
function split2(text) {
  const first = text.indexOf('+');
  const second = text.indexOf('+', first + 1);
  return first < 0 || second < 0 ? [] : [text.slice(first + 1, second), text.slice(second + 1)];
}

/** Opens a signed checkpoint with the key of its log; throws NoteError where it does not hold. */
export async function openCheckpoint(note, key) {
  const { text, signatures } = takeApart(note);
  const own = signatures.filter((signature) => signature.name === key.name && signature.id === key.id);
  if (own.length === 0) throw new NoteError(`no signature is from the key of ${key.name}`);
  let by;
  for (const signature of own) {
    const verdict = await verify(key.key, utf8.encode(text), signature.bytes);
    if (!verdict.holds) throw new NoteError(`the signature of ${key.name} does not fit the text`);
    by = verdict.by;
  }
  const checkpoint = readCheckpoint(text);
  if (checkpoint.origin !== key.name) throw new NoteError(`it is of ${checkpoint.origin}, the key of ${key.name}`);
  return { ...checkpoint, by };
}

function takeApart(note) {
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0009\u000b-\u001f]/.test(note)) throw new NoteError('a note holds no control characters');
  const end = note.lastIndexOf('\n\n');
  if (end < 0) throw new NoteError('a note has an empty line before its signatures');
  if (!note.endsWith('\n') || end + 2 >= note.length) throw new NoteError('a note ends with a signature and a newline');
  const lines = note.slice(end + 2, -1).split('\n');
  if (lines.length > MOST_SIGNATURES) throw new NoteError(`it has ${lines.length} signatures`);
  const signatures = lines.map((line) => {
    const [name, encoded] = line.startsWith(MARK) ? cut(line.slice(MARK.length), ' ') : [];
    const bytes = encoded === undefined ? undefined : base64(encoded);
    if (!bytes || bytes.length < 5 || name === '' || /[\s+]/u.test(name)) {
      throw new NoteError('a line of it is no signature: an em dash, a name, and base64');
    }
    return { name, id: hex(bytes.slice(0, 4)), bytes: bytes.slice(4) };
  });
  return { text: note.slice(0, end + 1), signatures };
}

function readCheckpoint(text) {
  const [origin, size, root, ...more] = text.slice(0, -1).split('\n');
  const bytes = root === undefined ? undefined : base64(root);
  const isWhole = /^(0|[1-9][0-9]{0,19})$/.test(size ?? '');
  if (!origin || !isWhole || bytes?.length !== 32 || more.includes('')) {
    throw new NoteError('a checkpoint has three lines: origin, size, root');
  }
  return { origin, size, root: `sha256:${hex(bytes)}` };
}

function cut(text, by) {
  const place = text.indexOf(by);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + by.length)];
}
