// The explorer's page: what is pasted, dropped or chosen is checked here, and goes nowhere.

import { Unreadable, explore } from './explorer/file.js';

const LARGEST_BYTES = 16 * 1024 * 1024;
const form = document.querySelector('#explorer');
const [text, key, file] = ['receipt', 'key', 'file'].map((name) => form.elements[name]);
const summary = document.querySelector('#summary');
const results = document.querySelector('#results');
const WORDS = { holds: 'holds', fails: 'does not hold', open: 'not shown' };
const TONES = { holds: 'good', fails: 'bad', open: 'quiet' };

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** Characters that would not show, or would turn what stands beside them around, as their numbers. */
function inert(value) {
  return String(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, (letter) => `\\u{${letter.codePointAt(0).toString(16).toUpperCase()}}`);
}

const pill = (verdict, word = WORDS[verdict]) => element('span', { className: `pill ${TONES[verdict]}` }, word);

function value(label, shown) {
  if (shown === undefined) return undefined;
  return element('p', { className: 'value' }, element('span', { className: 'quiet' }, `${label} `), element('bdi', {}, element('code', {}, inert(shown))));
}

function row(finding) {
  const line = element('li', {},
    element('p', { className: 'title' }, element('strong', {}, element('code', {}, inert(finding.field))), pill(finding.verdict)),
    element('p', {}, inert(finding.why)),
    value('recomputed', finding.expected),
    value('stated', finding.found));
  line.dataset.field = finding.field;
  line.dataset.verdict = finding.verdict;
  return line;
}

function card(checked, isAlone) {
  const { findings, name, kind } = checked;
  const failed = findings.all.filter((finding) => finding.verdict === 'fails').map((finding) => inert(finding.field));
  const verdict = failed.length > 0 ? 'fails' : 'holds';
  const says = failed.length > 0 ? `does not hold: ${[...new Set(failed)].join(', ')}` : 'holds';
  const details = element('details', { className: 'card', open: isAlone || failed.length > 0 },
    element('summary', {}, element('bdi', {}, element('code', {}, inert(name))), element('span', { className: 'quiet' }, inert(kind ?? '')), pill(verdict, says)),
    element('ul', { className: 'bare findings' }, ...findings.all.map(row)));
  details.dataset.verdict = verdict;
  return details;
}

function say(verdict, sentence) {
  summary.hidden = false;
  summary.className = `banner ${TONES[verdict]}`;
  summary.dataset.verdict = verdict;
  summary.textContent = sentence;
}

function tell(checked) {
  const bad = checked.filter(({ findings }) => findings.fail).length;
  const open = checked.some(({ findings }) => findings.all.some((finding) => finding.verdict === 'open'));
  const all = checked.length === 1 ? 'This' : `All ${checked.length} of these`;
  if (bad > 0) say('fails', checked.length === 1 ? 'This does not hold: what fails is named below.' : `${bad} of ${checked.length} do not hold: what fails is named below.`);
  else say('holds', `${all} ${checked.length === 1 ? 'holds' : 'hold'}${open ? '; what could not be shown from it alone is said below' : ''}.`);
}

let latest = 0;

async function verify() {
  const turn = latest += 1;
  results.replaceChildren();
  if (text.value.trim() === '') return say('open', 'Paste a receipt first, or choose a file.');
  if (globalThis.crypto?.subtle === undefined) {
    return say('open', 'This browser gives pages that did not come over https no cryptography: open this page over https, or use procura verify.');
  }
  say('open', 'Checking…');
  try {
    const options = { kinds: form.dataset.kinds.split(' '), key: key.value.trim() || undefined };
    const checked = await explore(text.value, options);
    if (turn !== latest) return undefined;
    results.replaceChildren(...checked.map((one) => card(one, checked.length === 1)));
    return tell(checked);
  } catch (error) {
    if (turn !== latest) return undefined;
    const why = error instanceof Unreadable ? inert(error.message) : 'something here went wrong';
    say('unreadable', `This cannot be read: ${why}.`);
    if (!(error instanceof Unreadable)) throw error;
    return undefined;
  }
}

TONES.unreadable = 'waiting';

async function take(chosen) {
  if (chosen === undefined) return undefined;
  if (chosen.size > LARGEST_BYTES) return say('unreadable', `The file has ${chosen.size} bytes, ${LARGEST_BYTES} are read here: use procura verify.`);
  try {
    text.value = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await chosen.arrayBuffer());
  } catch {
    return say('unreadable', 'The file is not text in UTF-8.');
  }
  return verify();
}

form.addEventListener('submit', (event) => { event.preventDefault(); verify(); });
form.querySelector('button').addEventListener('click', verify);
file.addEventListener('change', () => take(file.files[0]));
document.addEventListener('dragover', (event) => { event.preventDefault(); form.classList.add('over'); });
document.addEventListener('dragleave', () => form.classList.remove('over'));
document.addEventListener('drop', (event) => {
  event.preventDefault();
  form.classList.remove('over');
  const [chosen] = event.dataTransfer.files;
  if (chosen !== undefined) take(chosen);
  else { text.value = event.dataTransfer.getData('text'); verify(); }
});
form.querySelector('fieldset').disabled = false;
