// Everything that one receipt stands or falls by, one finding a field, with nothing but itself and its documents.

import { Num, at, canonical } from './json.js';
import { hex, openCheckpoint, readKey, sha256 } from './note.js';

const ZERO = `sha256:${'0'.repeat(64)}`;
const ID = '[0-7][0-9a-hjkmnp-tv-z]{25}';
const id = (...prefixes) => [new RegExp(`^(?:${prefixes.join('|')})_${ID}$`), `an id of the form ${prefixes.join('_… or ')}_…`];
const hash = [/^sha256:[0-9a-f]{64}$/, 'sha256: and 64 lower-case hex digits'];
const oneOf = (...names) => [new RegExp(`^(?:${names.join('|')})$`), `one of ${names.join(', ')}`];
const whole = ['whole', 'a whole number from 0 to 9007199254740991'];

/** The members of a receipt's body: what each must look like, and whether it may be missing. */
const body = (kinds) => ({
  id: id('rcpt'), at: ['time', 'a time in UTC to the millisecond'], tenant: [/^[a-z0-9-]{1,63}$/, 'a tenant'],
  'principal?': id('prn'), 'agent?': id('agt'), 'credential?': id('crd'),
  kind: oneOf(...kinds.map((kind) => kind.replaceAll('.', '\\.'))), 'outcome?': oneOf('allow', 'escalate', 'refuse'),
  'mandate_version?': whole, 'policy_version?': whole, 'catalogue_version?': whole, engine_version: [/^/, 'text'],
  'facts_from?': oneOf('described', 'derived', 'attested'), input_hash: hash, output_hash: hash,
  chain: id('crd', 'prn', 'tnt'), seq: whole, prev: hash, auth_key: id('key'),
});
const OUTER = { hash, auth: [/^hmac-sha256:[0-9a-f]{64}$/, 'hmac-sha256: and 64 lower-case hex digits'] };
const MERKLE = { index: whole, size: whole, root: hash, path: ['hashes', 'a list of hashes'], checkpoint: [/^/, 'text'], key: [/^/, 'text'] };

/** What was found of the fields of one receipt, in the order they are shown. */
export class Findings {
  constructor() { this.all = []; }
  #add(verdict, field, why, values = {}) { this.all.push({ verdict, field, why, ...values }); }
  holds(field, why, found) { this.#add('holds', field, why, { found }); }
  makes(field, why, expected) { this.#add('holds', field, why, { expected }); }
  fails(field, why, values) { this.#add('fails', field, why, values); }
  open(field, why, found) { this.#add('open', field, why, { found }); }
  same(field, expected, found, good, bad) {
    if (expected === found) this.holds(field, good, found);
    else this.fails(field, bad, { expected, found });
    return expected === found;
  }
  get fail() { return this.all.some((finding) => finding.verdict === 'fails'); }
}

/** The bytes that 64 hex digits after a colon stand for. */
const bytes = (text) => Uint8Array.from(text.slice(text.indexOf(':') + 1).match(/../g), (pair) => parseInt(pair, 16));
const written = (digest) => `sha256:${hex(digest)}`;
const shown = (value) => (value === undefined ? 'absent' : value instanceof Num ? value.text : typeof value === 'string' ? value : canonical(value));

function fits(value, form) {
  if (form === 'whole') return value instanceof Num && value.whole() !== undefined;
  if (form === 'hashes') return Array.isArray(value) && value.every((one) => typeof one === 'string' && hash[0].test(one));
  if (typeof value !== 'string') return false;
  if (form === 'time') return isTime(value);
  return form.test(value);
}

function isTime(text) {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/.test(text) || text.startsWith('0000')) return false;
  const at = new Date(text);
  return !Number.isNaN(at.getTime()) && at.toISOString() === text;
}

/** Names every member that is missing, unknown or of another form; the names of those that are right. */
function checkShape(object, forms, prefix, findings) {
  const right = new Set();
  const known = new Set();
  for (const [written, [form, what]] of Object.entries(forms)) {
    const name = written.replace('?', '');
    known.add(name);
    if (!object.has(name)) {
      if (!written.endsWith('?')) findings.fails(prefix + name, `it is missing: ${what} is expected`);
    } else if (fits(object.get(name), form)) right.add(name);
    else findings.fails(prefix + name, `${what} is expected`, { found: shown(object.get(name)) });
  }
  for (const name of object.keys()) {
    if (!known.has(name)) findings.fails(prefix + name, 'a receipt has no such member');
  }
  return right;
}

/** Checks a receipt; `documents` holds input, output and content where they came along. */
export async function check(receipt, documents, options) {
  const findings = new Findings();
  if (!(receipt instanceof Map)) {
    findings.fails('receipt', 'an object is expected');
    return { findings };
  }
  const merkle = receipt.get('merkle');
  const own = new Map([...receipt].filter(([name]) => !['hash', 'auth', 'merkle'].includes(name)));
  const right = checkShape(new Map([...receipt].filter(([name]) => name !== 'merkle')), { ...body(options.kinds), ...OUTER }, '', findings);
  const facts = { id: receipt.get('id'), chain: receipt.get('chain'), seq: receipt.get('seq')?.text, prev: receipt.get('prev'), hash: receipt.get('hash') };
  checkStatements(receipt, documents, findings);
  const known = await checkHash(own, receipt, right, findings);
  await checkDocuments(receipt, documents, right, findings);
  await checkContent(documents, findings);
  if (right.has('prev') && right.has('seq') && (facts.seq === '0') !== (facts.prev === ZERO)) {
    findings.fails('prev', `at place ${facts.seq} of its chain it cannot be this`, { found: facts.prev });
  }
  if (right.has('auth')) {
    findings.open('auth', `only the tenant's key ${shown(receipt.get('auth_key'))} can make it again; the leaf below covers it, and the checkpoint covers the leaf`, receipt.get('auth'));
  }
  if (!(merkle instanceof Map)) {
    findings.fails('merkle', 'its place in the log is missing');
    return { findings, facts };
  }
  const place = checkShape(merkle, MERKLE, 'merkle.', findings);
  if (known && right.has('auth')) {
    facts.leaf = await leaf(receipt.get('hash'), receipt.get('auth'));
    findings.makes('leaf', 'SHA-256 of a zero byte and of hash and auth together', facts.leaf);
  }
  await checkPath(merkle, place, facts.leaf, findings);
  await checkNote(receipt, merkle, place, facts, options, findings);
  return { findings, facts };
}

async function checkHash(own, receipt, right, findings) {
  if (!right.has('hash')) return false;
  const found = written(await sha256(canonical(own)));
  findings.same('hash', found, receipt.get('hash'), 'SHA-256 of everything the receipt states, in canonical form',
    'what the receipt states makes another hash: something in it was changed');
  return true;
}

async function checkDocuments(receipt, documents, right, findings) {
  for (const name of ['input', 'output']) {
    const field = `${name}_hash`;
    if (!right.has(field)) continue;
    const document = documents[name];
    if (document === undefined) {
      findings.open(field, `the ${name} document did not come along`, receipt.get(field));
      continue;
    }
    const found = written(await sha256(canonical(document)));
    findings.same(field, found, receipt.get(field), `SHA-256 of the ${name} document, in canonical form`,
      `the ${name} document makes another hash: it was changed, or is of another receipt`);
  }
}

/** What a receipt of the gate repeats of its documents must be the same there. */
function checkStatements(receipt, documents, findings) {
  const kind = receipt.get('kind');
  if (kind !== 'gate.evaluate' && kind !== 'gate.replay') return;
  const { input, output } = documents;
  if (output !== undefined) {
    const answered = at(output, '/outcome');
    const text = typeof answered === 'string' ? answered : undefined;
    const stated = receipt.get('outcome');
    if ((kind === 'gate.evaluate' || text !== undefined) && shown(text) !== shown(stated)) {
      findings.fails('outcome', 'the answer has another outcome', { expected: shown(text), found: shown(stated) });
    }
  }
  if (kind === 'gate.replay') return;
  const texts = { tenant: '', principal: 'prn_', agent: 'agt_', credential: 'crd_', facts_from: '', engine_version: '' };
  for (const [name, document] of [['input', input], ['output', output]]) {
    if (!(document instanceof Map)) continue;
    for (const [member, prefix] of Object.entries(texts)) {
      const there = document.get(member);
      if (typeof there === 'string' && there.startsWith(prefix) && there !== receipt.get(member)) {
        findings.fails(member, `the ${name} document says otherwise`, { expected: there, found: shown(receipt.get(member)) });
      }
    }
    for (const member of ['mandate_version', 'policy_version', 'catalogue_version']) {
      const there = document.get(member);
      if (there instanceof Num && there.text !== shown(receipt.get(member))) {
        findings.fails(member, `the ${name} document says otherwise`, { expected: there.text, found: shown(receipt.get(member)) });
      }
    }
  }
}

/** Every opening must open the commitment it points at; those without one are counted. */
async function checkContent({ input, output, content }, findings) {
  const entries = content === undefined ? new Map() : content;
  if (!(entries instanceof Map)) {
    findings.fails('content', 'an object of openings by pointer is expected');
    return;
  }
  for (const [pointer, entry] of entries) {
    const field = `content ${pointer}`;
    const [, name, rest] = /^\/(input|output)(.*)$/s.exec(pointer) ?? [];
    const document = name === 'input' ? input : output;
    const wanted = name === undefined || document === undefined ? undefined : committed(at(document, rest));
    const [salt, value] = entry instanceof Map && entry.size === 2 ? [entry.get('salt'), entry.get('value')] : [];
    if (wanted === undefined) findings.fails(field, 'the documents commit to nothing at this place');
    else if (value === undefined || typeof salt !== 'string' || !/^[0-9a-f]{32}$/.test(salt)) {
      findings.fails(field, 'a salt of 32 lower-case hex digits and a value are expected');
    } else {
      const found = written(await sha256(bytes(`:${salt}`), canonical(value)));
      findings.same(field, found, wanted, `salt and value make the commitment: ${shorten(canonical(value))}`,
        'salt and value make another hash than the document commits to');
    }
  }
  const closed = Math.max(0, count(input) + count(output) - entries.size);
  if (closed > 0) {
    findings.open('content', `${closed} ${closed === 1 ? 'commitment has' : 'commitments have'} no content beside ${closed === 1 ? 'it' : 'them'}: erased, or not handed out`);
  }
}

function committed(value) {
  const there = value instanceof Map && value.size === 1 ? value.get('commitment') : undefined;
  return typeof there === 'string' && hash[0].test(there) ? there : undefined;
}

function count(value) {
  if (committed(value) !== undefined) return 1;
  const parts = value instanceof Map ? [...value.values()] : Array.isArray(value) ? value : [];
  return parts.reduce((sum, part) => sum + count(part), 0);
}

const shorten = (text) => (text.length > 160 ? `${text.slice(0, 160)}…` : text);

/** The hash of a receipt's leaf (RFC 9162 §2.1.1). */
async function leaf(hash, auth) {
  return written(await sha256(Uint8Array.of(0), canonical(new Map([['auth', auth], ['hash', hash]]))));
}

/** From the leaf along the path to the root (RFC 9162 §2.1.3.2). */
async function checkPath(merkle, place, leaf, findings) {
  if (leaf === undefined || !['index', 'size', 'root', 'path'].every((name) => place.has(name))) return;
  const [index, size] = [BigInt(merkle.get('index').text), BigInt(merkle.get('size').text)];
  const root = await climb(leaf, index, size, merkle.get('path'));
  if (root === undefined) {
    findings.fails('merkle.path', `no tree of ${size} leaves has a path of ${merkle.get('path').length} hashes from leaf ${index}`);
    return;
  }
  findings.same('merkle.path', root, merkle.get('root'), `it leads from leaf ${index} to the root of ${size} leaves`,
    'it leads to another root: the leaf, the path or the place was changed');
}

async function climb(leaf, index, size, path) {
  if (index >= size) return undefined;
  let [node, last, here] = [index, size - 1n, bytes(leaf)];
  for (const sibling of path) {
    if (last === 0n) return undefined;
    if (node & 1n || node === last) {
      here = await sha256(Uint8Array.of(1), bytes(sibling), here);
      while (!(node & 1n) && node !== 0n) { node >>= 1n; last >>= 1n; }
    } else here = await sha256(Uint8Array.of(1), here, bytes(sibling));
    node >>= 1n;
    last >>= 1n;
  }
  return last === 0n ? written(here) : undefined;
}

/** The key, and the checkpoint it signed: of this log, of this size, with this root. */
async function checkNote(receipt, merkle, place, facts, options, findings) {
  if (!place.has('key') || !place.has('checkpoint')) return;
  let key;
  try {
    key = await readKey(merkle.get('key'));
  } catch (error) {
    findings.fails('merkle.key', error.message, { found: merkle.get('key') });
    return;
  }
  facts.key = key.text;
  if (options.key === undefined) {
    findings.open('merkle.key', 'it came with the receipt: compare it with the one you know from elsewhere', key.text);
  } else {
    findings.same('merkle.key', options.key, key.text, 'it is the key you gave', 'it is not the key you gave');
  }
  let checkpoint;
  try {
    checkpoint = await openCheckpoint(merkle.get('checkpoint'), key);
  } catch (error) {
    findings.fails('merkle.checkpoint', error.message);
    return;
  }
  facts.origin = checkpoint.origin;
  const ending = `/log/${receipt.get('tenant')}`;
  if (checkpoint.origin.endsWith(ending)) {
    findings.holds('merkle.checkpoint', `signed by the log ${checkpoint.origin}, as ${checkpoint.by} found`);
  } else {
    findings.fails('merkle.checkpoint', "it is of another tenant's log", { expected: `…${ending}`, found: checkpoint.origin });
  }
  if (place.has('size')) {
    findings.same('merkle.size', checkpoint.size, merkle.get('size').text, 'the checkpoint has this size', 'the checkpoint has another size');
  }
  if (place.has('root')) {
    findings.same('merkle.root', checkpoint.root, merkle.get('root'), 'the checkpoint has this root', 'the checkpoint has another root');
  }
  facts.index = merkle.get('index')?.text;
  facts.size = checkpoint.size;
  facts.root = checkpoint.root;
}
