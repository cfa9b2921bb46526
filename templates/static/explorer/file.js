// What was pasted, taken apart: receipts, lines or answers, and what several of them say together.

import { Malformed, canonical, parse } from './json.js';
import { Findings, check } from './receipt.js';
import { hex, sha256 } from './note.js';

/** More receipts than this are for `procura verify`. */
export const MOST_RECEIPTS = 1000;

/** What is nothing to verify. */
export class Unreadable extends Error {}

/** Checks everything in a text; `options` holds the kinds of receipts there are and perhaps a known key. */
export async function explore(text, options) {
  const values = takeApart(text);
  if (values.length > MOST_RECEIPTS) {
    throw new Unreadable(`it holds ${values.length} lines, ${MOST_RECEIPTS} are read here: use procura verify for more`);
  }
  const history = new History();
  const checked = [];
  let inExport = false;
  for (const value of values) {
    const shape = shapeOf(value);
    inExport ||= shape === 'header';
    checked.push(await one(value, shape, inExport, options, history));
  }
  history.links();
  return checked;
}

/** JSON Lines, or one JSON value over several lines. */
function takeApart(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw new Unreadable('there is nothing in it');
  if (!lines[0].trimStart().startsWith('{')) throw new Unreadable('a receipt begins with {');
  try {
    const first = parse(lines[0]);
    return [first, ...lines.slice(1).map(lenient)];
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    const second = lines.length > 1 ? lenient(lines[1]) : error;
    if (second instanceof Map) return [error, ...lines.slice(1).map(lenient)];
    try {
      return [parse(text)];
    } catch (whole) {
      throw new Unreadable(whole.message);
    }
  }
}

/** A value, or why a line is none. */
function lenient(line) {
  try {
    return parse(line);
  } catch (error) {
    if (error instanceof Malformed) return error;
    throw error;
  }
}

/** What a value is meant to be, by the members it has. */
function shapeOf(value) {
  if (!(value instanceof Map)) return 'unknown';
  const has = (...names) => names.some((name) => value.has(name));
  if (has('procura') || (has('export') && !has('receipt', 'input', 'output', 'content'))) return 'header';
  if (has('input', 'output', 'content', 'export')) return 'line';
  if (has('receipt')) return 'answer';
  if (has('hash', 'auth', 'merkle', 'prev', 'chain', 'input_hash')) return 'receipt';
  return 'unknown';
}

async function one(value, shape, inExport, options, history) {
  const findings = new Findings();
  if (value instanceof Malformed) {
    findings.fails('line', value.message);
    return { name: 'a line that cannot be read', findings };
  }
  if (shape === 'header') {
    findings.open('export', 'each line below is checked by itself; that none is missing is for procura verify to say');
    return { name: "an export's header", findings };
  }
  if (shape === 'unknown') {
    if (history.isEmpty) throw new Unreadable('it is neither a receipt nor a line nor an answer with one');
    findings.fails('line', 'it is neither a receipt nor a line nor an answer with one');
    return { name: 'another line', findings };
  }
  const receipt = shape === 'receipt' ? value : value.get('receipt');
  const around = await surroundings(value, shape, inExport, receipt);
  const { findings: found, facts } = await check(receipt, around.documents, options);
  found.all.unshift(...around.findings.all);
  if (facts !== undefined) history.add(facts, found);
  const id = receipt instanceof Map ? receipt.get('id') : undefined;
  return { name: typeof id === 'string' ? id : 'a receipt', kind: receipt instanceof Map ? receipt.get('kind') : undefined, findings: found };
}

/** The documents that stand around a receipt, and what is wrong with them before they are looked into. */
async function surroundings(value, shape, inExport, receipt) {
  const findings = new Findings();
  if (shape === 'receipt') return { documents: {}, findings };
  if (shape === 'line') {
    for (const name of value.keys()) {
      if (!['export', 'receipt', 'input', 'output', 'content'].includes(name)) findings.fails(name, 'a line has no such member');
    }
    for (const name of ['receipt', 'input', 'output']) {
      if (!value.has(name)) findings.fails(name, 'it is missing');
    }
    if (value.has('export') && !inExport) findings.fails('export', "it is a line of an export whose header is missing");
    return { documents: { input: value.get('input'), output: value.get('output'), content: value.get('content') }, findings };
  }
  const rest = new Map([...value].filter(([name]) => name !== 'receipt'));
  const stated = (name) => (receipt instanceof Map ? receipt.get(name) : undefined);
  for (const name of ['outcome', 'mandate_version', 'policy_version']) {
    if (rest.has(name) && stated(name) !== undefined && canonical(rest.get(name)) !== canonical(stated(name))) {
      findings.fails(name, 'the receipt in the answer says otherwise', { expected: canonical(stated(name)), found: canonical(rest.get(name)) });
    }
  }
  const digest = `sha256:${hex(await sha256(canonical(rest)))}`;
  const covered = digest === stated('output_hash');
  if (covered) return { documents: { output: rest }, findings };
  if (stated('kind') === 'gate.evaluate' && rest.size > 0) {
    findings.fails('output_hash', 'the answer around the receipt was changed', { expected: digest, found: stated('output_hash') });
  } else if (rest.size > 0) {
    findings.open('answer', 'what stands around the receipt is not the document it covers');
  }
  return { documents: {}, findings };
}

/** What several receipts say together: one chain, one log, one root for each size. */
class History {
  #chains = new Map();
  #leaves = new Map();
  #roots = new Map();
  #links = [];

  get isEmpty() { return this.#chains.size === 0 && this.#links.length === 0; }

  add(facts, findings) {
    const { chain, seq, hash, prev, origin, index, leaf, size, root } = facts;
    if (seq !== undefined && typeof hash === 'string') {
      this.#first(this.#chains, `${chain} ${seq}`, hash, findings, 'hash', `place ${seq} of the chain ${chain} holds another receipt as well: a fork`);
      this.#links.push({ chain, seq, prev, findings });
    }
    if (origin === undefined) return;
    if (leaf !== undefined && index !== undefined) {
      this.#first(this.#leaves, `${origin} ${index}`, leaf, findings, 'merkle.index', `leaf ${index} of this log is another one in a receipt above: a fork`);
    }
    this.#first(this.#roots, `${origin} ${size}`, root, findings, 'merkle.root', `this log has another root at size ${size} in a receipt above: a split view`);
  }

  #first(known, place, value, findings, field, why) {
    const before = known.get(place);
    if (before === undefined) known.set(place, value);
    else if (before !== value) findings.fails(field, why, { expected: before, found: value });
  }

  /** Once all is read: each link to the receipt before it, where that was pasted as well. */
  links() {
    for (const { chain, seq, prev, findings } of this.#links) {
      if (findings.all.some((finding) => finding.field === 'prev')) continue;
      if (seq === '0') {
        findings.holds('prev', 'it is the first of its chain, and links to nothing', prev);
        continue;
      }
      const before = this.#chains.get(`${chain} ${BigInt(seq) - 1n}`);
      if (before === undefined) findings.open('prev', 'the receipt before it in its chain was not pasted', prev);
      else findings.same('prev', before, prev, 'it links to the receipt before it in its chain', 'it does not link to the receipt before it in its chain');
    }
  }
}
