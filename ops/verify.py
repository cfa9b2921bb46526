#!/usr/bin/env python3
"""Checks receipts, exports, checkpoints, tiles and consistency proofs offline, with the standard library alone.
A second opinion beside `procura verify`: no code in common, the same files, the same status (0 all hold, 1 something does not, 2 unreadable)."""
import argparse, base64, collections, datetime, decimal, functools, hashlib, json, math, os, re, sys
LARGEST, DEEPEST, EXACT, BLANK, MARK, ZERO = 16 << 20, 40, 2**53 - 1, b" \t\n\r\x0c", "\u2014 ", "sha256:" + 64 * "0"
class Fault(ValueError):  # The first thing that does not hold
    def __init__(self, field, detail, expected=None, found=None, status=1):
        self.status, values = status, (value.hex() if type(value) is bytes else value for value in (expected, found))
        super().__init__(f"{field}: {detail}".removeprefix(": ") + (" (expected {}, found {})".format(*values) if found is not None else ""))
def need(holds, *said, **status):
    if not holds: raise Fault(*said, **status)
    return holds
def same(field, expected, found, detail): need(type(expected) is type(found) and expected == found, field, detail, expected, found)
def attempt(work, *given):
    try: return work(*given)
    except ValueError: return None

# JSON, read strictly (RFC 8259) and written in its one spelling (RFC 8785).
def once(pairs):
    if len(members := dict(pairs)) != len(pairs): raise ValueError("a member stands twice")
    return members
def number(text):
    double = float(text)
    if not math.isfinite(double) or decimal.Decimal(text) != decimal.Decimal(repr(double)): raise ValueError(f"`{text[:40]}` is no double")
    return double if text == "-0" or set(text) & set(".eE") else int(text)
def depth(value):
    return 1 + max(map(depth, value.values() if type(value) is dict else value), default=0) if type(value) in (dict, list) else 0
def parse(data):  # The value, or what is wrong
    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=once, parse_int=number, parse_float=number, parse_constant=number)
        if text.count("{") + text.count("[") > DEEPEST and depth(value) > DEEPEST: raise ValueError(f"nested deeper than {DEEPEST}")
        if "\\ud" in text.lower(): json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair has no UTF-8
        return value, None
    except (ValueError, ArithmeticError, RecursionError, MemoryError) as error: return None, f"not JSON: {ascii(str(error)[:200])}"
def es6(double):
    if not 1e-6 <= abs(double) < 1e21: return re.sub(r"(\.0)?e([+-])0*", r"e\2", repr(double))
    text = format(decimal.Decimal(repr(double)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
def jcs(value, quoted=json.encoder.encode_basestring):
    if type(value) is str: return quoted(value)
    if type(value) is list: return "[" + ",".join([jcs(item) for item in value]) + "]"
    if type(value) is bool or value is None: return json.dumps(value)
    if type(value) is dict:
        return "{" + ",".join([f"{quoted(name)}:{jcs(value[name])}" for name in sorted(value, key=lambda name: name.encode("utf-16-be"))]) + "}"
    return "0" if value == 0 else str(value) if type(value) is int and abs(value) <= EXACT else es6(float(value))
def sha(data): return hashlib.sha256(data).digest()
def text_of(digest): return "sha256:" + digest.hex()
def bytes_of(text): return bytes.fromhex(text.partition(":")[2])
def hash_of(value): return text_of(sha(jcs(value).encode()))

# Ed25519 (RFC 8032 §5.1): points in their one spelling, S below the order, no multiplication by the cofactor.
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, ROOT = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)
def point(encoded):
    sign, y = encoded[31] >> 7, int.from_bytes(encoded, "little") & (1 << 255) - 1
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * ROOT % P
    x = P - x if x & 1 != sign else x
    return (x, y, 1, x * y % P) if y < P and x * x % P == square and x < P and x & 1 == sign else None
def add(p, q):
    a, b, c, d = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0]), 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P
def times(scalar, p):
    total = (0, 1, 1, 0)
    while scalar: total, p, scalar = add(total, p) if scalar & 1 else total, add(p, p), scalar >> 1
    return total
BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
def verifies(key, message, signature):
    a, s = point(key), int.from_bytes(signature[32:], "little")
    if a is None or len(signature) != 64 or s >= ORDER: return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    x, y, z, _ = add(times(s, BASE), times(k, (-a[0] % P, a[1], 1, -a[3] % P)))
    x, y = x * pow(z, -1, P) % P, y * pow(z, -1, P) % P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]

# The tree (RFC 9162 §2.1): what is hashed begins with a zero byte for a leaf, with a one for a node.
def pair(left, right): return sha(b"\1" + left + right)
def climb(node, last, path, left, right):  # Up from a node: each of `left` grows by what stands left of it, `right` by everything (§2.1.3.2, §2.1.4.2)
    for sibling in path:
        if last == 0: return None
        if node & 1 or node == last:
            left, right = [sibling if one is None else pair(sibling, one) for one in left], pair(sibling, right)
            while node and not node & 1: node, last = node >> 1, last >> 1
        else: right = pair(right, sibling)
        node, last = node >> 1, last >> 1
    return (left, right) if last == 0 else None
def is_consistent(old, new, old_root, new_root, path):
    if old == 0 or old >= new: return old <= new and not path and (old == 0 or old_root == new_root)
    path, node, last = [old_root] * (old & old - 1 == 0) + path, old - 1, new - 1
    while node & 1: node, last = node >> 1, last >> 1
    return bool(path) and climb(node, last, path[1:], [path[0]], path[0]) == ([old_root], new_root)

# Signed notes (C2SP signed-note, tlog-checkpoint).
def base64_of(text, field, length=None):
    raw = attempt(base64.b64decode, text, None, True) or b""
    return need(base64.b64encode(raw).decode() == text and length in (None, len(raw)), field, "not base64 in its one spelling, or too long or short") and raw
def is_name(text): return bool(text) and "+" not in text and not any(letter.isspace() for letter in text)
def read_key(text, field="key"):  # Name, id, algorithm and public key of a verifier key
    name, key_id, encoded = (text.split("+", 2) + ["", ""])[:3]
    raw = base64_of(encoded, field, 33)
    is_own = sha(name.encode() + b"\n" + raw)[:4].hex() == key_id
    need(is_own and is_name(name) and raw[0] in (1, 4), field, f"{ascii(text)} is not a verifier key")
    return name, bytes.fromhex(key_id), raw[0], raw[1:]
def open_checkpoint(note, key, field):  # Size and root of a checkpoint that the key signed
    before, found, signatures = note.rpartition("\n\n")
    is_note, signed = found and signatures[-1:] == "\n" and not re.search("[\0-\x09\x0b-\x1f]", note), False
    need(is_note and signatures.count("\n") <= 100, field, "not of the form of a signed note")
    for line in signatures[:-1].split("\n"):
        signer, _, encoded = line.removeprefix(MARK).partition(" ")
        raw = base64_of(encoded, field)
        need(line.startswith(MARK) and is_name(signer) and len(raw) > 4, field, "not a signature line")
        if (signer, raw[:4]) == key[:2]:
            need(signed := verifies(key[3], (before + "\n").encode(), raw[4:]), field, f"the signature of {ascii(signer)} does not fit the text")
    origin, size, root, *more = before.split("\n") + [""] * 3
    need(signed and origin == key[0], field, f"no signature is from the key of {ascii(key[0])}, or it is of another log")
    need("" not in more[:-3] and re.fullmatch("0|[1-9][0-9]{0,19}", size) and int(size) < 2**64, field, "not origin, size and root")
    return int(size), base64_of(root, field, 32)

# Shapes: every member known, none missing (`?` marks those that may be), each in its one spelling.
def spelt(pattern): return lambda value: type(value) is str and re.fullmatch(pattern, value, re.ASCII) is not None
def identifier(prefixes): return spelt(f"(?:{prefixes})_[0-7][0-9a-hjkmnp-tv-z]{{25}}")
def is_count(value): return type(value) is int and 0 <= value <= EXACT
def is_time(value, form=spelt(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")):
    return form(value) and attempt(datetime.datetime.fromisoformat, value[:-1]) is not None
KINDS = """gate.evaluate gate.replay gate.withdrawn mandate.put policy.put catalogue.put principal.create principal.password agent.create agent.retire credential.create
    credential.derive credential.revoke enforcement_point.create enforcement_point.revoke decision.approve decision.decline decision.expire decision.renew
    decision.withdraw decision.resolve effect.outcome access.minute log.gap log.restore content.erase retention.put key.rotate export tenant.setup"""
CHECKS = {
    "any": lambda _: True, "text": lambda value: type(value) is str, "count": is_count, "time": is_time, "kind": KINDS.split().__contains__,
    "hash": spelt("sha256:[0-9a-f]{64}"), "auth": spelt("hmac-sha256:[0-9a-f]{64}"), "slug": spelt("[a-z0-9-]{1,63}"),
    "salt": spelt("[0-9a-f]{32}"), "chain": identifier("crd|prn|tnt"), "outcome": spelt("allow|escalate|refuse"), "procura": spelt("export"),
    "source": spelt("described|derived|attested"), "one": lambda value: is_count(value) and value == 1,
    "when": lambda value: value is None or is_time(value), **{name: identifier(name) for name in "rcpt prn agt crd key exp".split()}}
def shape(text, **inner): return {name: {**CHECKS, **inner}[kind] for name, kind in (member.split(":") for member in text.split())}
HASHES, SUBJECT = [CHECKS["hash"]], shape("credential?:crd agent?:agt principal?:prn tenant?:slug")
MERKLE = shape("index:count size:count root:hash path:hashes checkpoint:text key:text", hashes=HASHES)
RECEIPT = shape("""id:rcpt at:time tenant:slug principal?:prn agent?:agt credential?:crd kind:kind outcome?:outcome mandate_version?:count hash:hash
    policy_version?:count catalogue_version?:count engine_version:text facts_from?:source input_hash:hash output_hash:hash chain:chain seq:count
    prev:hash auth_key:key auth:auth merkle:merkle""", merkle=MERKLE)
ERASED = shape("at:time reason:text receipt:receipt input:any output:any", receipt=RECEIPT)
LINE = shape("export?:exp receipt:receipt input:any output:any content?:any erased?:erased", receipt=RECEIPT, erased=ERASED)
HEADER = shape("""procura:procura version:one subject:subject export:exp tenant:slug from:when until:when at:time origin:text key:text size:count
    root:hash checkpoint:text""", subject=SUBJECT)
PROOF = shape("origin?:text from:count to:count path:hashes", hashes=HASHES)
OPENING, COMMITMENT = shape("salt:salt value:any"), shape("commitment:hash")
STATED = {"tenant": "", "principal": "prn_", "agent": "agt_", "credential": "crd_", "facts_from": "", "engine_version": "",
          "mandate_version": None, "policy_version": None, "catalogue_version": None}
def strict(value, form, place=""):
    if type(form) in (list, dict): need(type(value) is type(form), place, f"{ascii(value)[:80]} found, a {type(form).__name__} expected")
    if type(form) is list:
        for position, item in enumerate(value): strict(item, form[0], f"{place}/{position}")
    elif type(form) is dict:
        for name in value: need("?" not in name and (name in form or name + "?" in form), f"{place}/{name}", "unknown member")
        for name, plain in ((name, name.rstrip("?")) for name in form):
            need(name != plain or name in value, f"{place}/{name}", "missing")
            if plain in value: strict(value[plain], form[name], f"{place}/{plain}")
    else: need(form(value), place, f"{ascii(value)[:120]} is not of the form it has")
    return value
def resolve(pointer, line):
    name, *tokens = pointer[1:].split("/")
    value = line.get(name) if pointer[:1] == "/" and name in ("input", "output") else None
    for token in (token.replace("~1", "/").replace("~0", "~") for token in tokens):
        at = int(token) if type(value) is list and re.fullmatch("0|[1-9][0-9]{0,9}", token) else EXACT
        value = value.get(token) if type(value) is dict else value[at] if type(value) is list and at < len(value) else None
    return value

class Log:  # What is known of one log: roots by size, signed or shown by paths; nodes by level and index, from receipts and tiles
    def __init__(self, origin):
        self.origin, self.trees, self.signed, self.nodes, self.built, self.tiled = ascii(origin), {0: sha(b"")}, set(), {}, {}, 0
        self.above = collections.defaultdict(set)
    def tree(self, size, root, signed=True):
        same("merkle.root", self.trees.setdefault(size, root), root, f"another root of {self.origin} at size {size} was read before: a fork")
        if signed: self.signed.add(size)
    def begins(self, size, root, whole): self.above[size].add(whole) or self.tree(size, root, False)
    def put(self, level, i, node, field):
        same(field, self.nodes.setdefault((level, i), node), node, f"another node {i} of level {level} was read before: a fork")
    def node(self, level, i):  # The root of 2^level leaves from leaf i·2^level on; `None` where it is not known and some below it are not either
        if (level, i) not in self.built:
            left = self.node(level - 1, 2 * i) if level else None
            right = self.node(level - 1, 2 * i + 1) if left else None
            self.built[level, i] = built = pair(left, right) if right else self.nodes.get((level, i))
            same("tile", built, self.nodes.get((level, i), built), f"node {i} of level {level} is not that of what stands below it")
        return self.built[level, i]
    def root(self, size):
        nodes = [self.node(level, (size >> level) - 1) for level in range(64) if size >> level & 1]
        return None if None in nodes else functools.reduce(lambda right, left: pair(left, right), nodes)
    def settle(self, proofs, notes):  # Holds every signed root against leaves, tiles and proofs, and notes what they do not show
        sizes, top = sorted(self.signed, reverse=True), {}
        for level, i in sorted(self.nodes): level and self.node(level, i)
        whole = [size for size in sizes if size and self.root(size)]
        for size in whole: self.begins(size, self.root(size), whole[0])
        for old, new, path, place in proofs:
            roots, is_held = (self.trees.get(old), self.trees.get(new)), {old, new} <= self.signed | {0}
            need(not is_held or is_consistent(old, new, *roots, path), "path", f"it does not lead from {old} to {new} leaves", *roots)
            if is_held: self.above[old].add(new)
            else: notes.append(f"the consistency proof from {old} to {new} leaves in {place} is held against nothing: no checkpoints of both were read")
        for size in sizes:
            top[size] = max([top[b] for b in self.above[size] if b > size and b in top], default=size or sizes[0])
            if top[size] == size != sizes[0]: notes.append(f"that {size} and {sizes[0]} leaves of {self.origin} are one history is not shown")
        if self.tiled > max(whole, default=0): notes.append("tiles are not held against a checkpoint: none is of a size they suffice for")

class Export:  # An export whose header was read; every line is of it and in order, and the manifest says the same
    def __init__(self, value, verifier):
        subject, tenant, since, until = value["subject"], value["tenant"], value["from"], value["until"]
        self.header, self.hash, self.digest, self.chains, self.lines, self.index = value, hash_of(value), hashlib.sha256(), {}, 0, -1
        need(len(subject) == 1 and subject.get("tenant", tenant) == tenant, "/subject", "one subject, of this tenant, is expected")
        self.first, self.last, (self.kind, self.subject) = None, None, *subject.items()
        name, size, root = verifier.open(value["checkpoint"], value["key"], "", tenant)
        for field, found in (("origin", name), ("size", size), ("root", text_of(root))): same(field, found, value[field], "not its checkpoint's")
        need(not (since and until) or since < until, "until", "not after `from`", since, until)
        verifier.log(name).tree(size, root)
    def line(self, line):  # Takes a line whose receipt holds; whether it was the manifest
        header, receipt, output, wrong = self.header, line["receipt"], line["output"], "a line is missing, repeated or out of order"
        index, chain, seq, since = receipt["merkle"]["index"], receipt["chain"], receipt["seq"], header["from"]
        same("merkle.key", header["key"], receipt["merkle"]["key"], "the header names another key")
        need(receipt["merkle"]["size"] >= header["size"], "merkle.size", f"its path leads to fewer leaves than the header's {header['size']}")
        if receipt["kind"] == "export" and type(output) is dict and output.get("export") == header["export"]: return self.manifest(line, output)
        need((since or "") <= receipt["at"] < (header["until"] or "a"), "at", f"not from {since} to {header['until']}", "another", receipt["at"])
        need(self.subject in (receipt.get(self.kind), chain, receipt["tenant"]), self.kind, "of another", self.subject, receipt.get(self.kind, "-"))
        need(index > self.index and (self.kind != "tenant" or index == self.index + 1 or not self.lines and since), "merkle.index", wrong)
        before, self.index, is_whole = self.chains.get(chain), index, self.kind == "tenant" or chain[:4] == "crd_" or chain == self.subject
        if before or is_whole and not since:
            due = before["last_seq"] + 1 if before else 0
            need(seq == due or seq > due and not is_whole, "seq", wrong, due, seq)
            if before and seq == due: same("prev", before["last_hash"], receipt["prev"], "it does not link to the line before it in its chain")
        so_far = before or {"chain": chain, "first_seq": seq, "lines": 0}
        self.chains[chain] = {**so_far, "last_seq": seq, "last_hash": receipt["hash"], "lines": so_far["lines"] + 1}
        self.lines, self.first, self.last = self.lines + 1, self.first or receipt["hash"], receipt["hash"]
        self.digest.update(sha(jcs(line).encode()))
    def manifest(self, line, output):
        need(not {"content", "erased"} & line.keys(), "content", "the manifest's line has none, and is not erased")
        stated = {"export": self.header["export"], "header": self.hash, "lines": self.lines, "first": self.first, "last": self.last,
                  "chains": [self.chains[chain] for chain in sorted(self.chains)], "digest": text_of(self.digest.digest())}
        for name in [*stated, *output]:
            found, said = (json.dumps(one.get(name, "absent"), sort_keys=True) for one in (stated, output))
            same(f"output.{name}", found, said, "the manifest states another value than the lines of the file give")
        if self.kind == "tenant" and not self.header["until"] and (self.lines or not self.header["from"]):
            same("output.lines", self.header["size"], self.index + 1, "the lines end before the log does")
        return need(line["receipt"]["at"] >= self.header["at"], "at", f"the manifest is older than the header, {self.header['at']}")
TILE = re.compile(r"((?:.*/)?)tile/([1-5]?\d|6[0-3])/(?!x000/)((?:x\d{3}/){0,5}\d{3})(?:\.p/([1-9]\d?|1\d\d|2[0-4]\d|25[0-5]))?", re.ASCII)
class Verifier:
    def __init__(self, key, alone):
        self.given, self.alone, self.logs, self.chains, self.seen, self.opened, self.exports = key, alone, {}, {}, {}, {}, {}
        self.notes, self.tiles, self.proofs, self.counts, self.place, self.receipt, self.number = [], [], [], collections.Counter(), None, None, 0
    def log(self, origin): return self.logs.setdefault(origin, Log(origin))
    def open(self, note, key_text, prefix, tenant):
        if (note, key_text) not in self.opened:
            need((key := read_key(key_text, prefix + "key"))[2] == 1, prefix + "key", "a witness's key, not a log's")
            same(prefix + "key", self.given or key_text, key_text, "it is not under the key that was given")
            self.opened = {(note, key_text): (key[0], *open_checkpoint(note, key, prefix + "checkpoint"))}
        opened, of = self.opened[note, key_text], "/log/" + tenant
        return need(opened[0].endswith(of), "merkle.checkpoint", "of another tenant's log", "…" + of, ascii(opened[0])) and opened
    def hold(self, receipt, line, kept=True):  # Checks a receipt by itself, then against all that was read before
        body = {name: value for name, value in receipt.items() if name not in ("hash", "auth", "merkle")}
        same("hash", hash_of(body), receipt["hash"], "its body has another hash")
        merkle, chain, seq, prev, kind = receipt["merkle"], receipt["chain"], receipt["seq"], receipt["prev"], receipt["kind"]
        need((seq == 0) == (prev == ZERO), "prev", f"at place {seq} of its chain it is {prev}")
        for name in ("input", "output"):
            if name in line: same(name + "_hash", hash_of(line[name]), receipt[name + "_hash"], "the document beside it has another hash")
        said = (documents := {name: line[name] for name in ("input", "output") if type(line.get(name)) is dict}).get("output", {}).get("outcome")
        if "output" in line and (kind == "gate.evaluate" or kind == "gate.replay" and type(said) is str):
            same("outcome", said if type(said) is str else "absent", receipt.get("outcome", "absent"), "the answer has another outcome")
        for name, member in [(name, member) for name in documents for member in STATED if kind == "gate.evaluate"]:
            said, prefix = documents[name].get(member), STATED[member]
            if type(said) is str and prefix is not None and said.startswith(prefix) or prefix is None and type(said) in (int, float):
                same(member, said, receipt.get(member, "absent"), f"the {name} document says otherwise")
        need(type(line.get("content", {})) is dict, "content", "an object of openings by pointer is expected")
        for pointer, entry in line.get("content", {}).items():
            stands, field = resolve(pointer, line), f"content {pointer}"
            strict(stands, COMMITMENT, field) and strict(entry, OPENING, field)
            same(field, stands["commitment"], text_of(sha(bytes.fromhex(entry["salt"]) + jcs(entry["value"]).encode())), "it does not open the commitment")
        if gone := line.get("erased"):  # The receipt that says so stands beside it, whole, and must be of it
            by, says = gone["receipt"], gone["input"] if type(gone["input"]) is dict else {}
            stated, found = ["content.erase", receipt["tenant"], by["at"], says.get("reason")], [by["kind"], by["tenant"], gone["at"], gone["reason"]]
            is_listed = type(says.get("receipts")) is list and receipt["id"] in says["receipts"] and merkle["index"] < by["merkle"]["index"]
            self.hold(need(stated == found and is_listed and "content" not in line, "erased", "not so, by the receipt beside it", stated, found) and by, gone, kept)
        index, size, root = merkle["index"], merkle["size"], bytes_of(merkle["root"])
        leaf = sha(b"\0" + jcs({"auth": receipt["auth"], "hash": receipt["hash"]}).encode())
        shown = index < size and climb(index, size - 1, [bytes_of(node) for node in merkle["path"]], [None, leaf], leaf)
        need(shown and shown[1] == root, "merkle.path", f"it does not lead from leaf {index} to the root of {size} leaves")
        name, signed_size, signed_root = self.open(merkle["checkpoint"], merkle["key"], "merkle.", receipt["tenant"])
        same("merkle", f"{signed_size} {signed_root.hex()}", f"{size} {root.hex()}", "its checkpoint has another size or root")
        log = self.log(name)
        for place, link, field in ((seq, receipt["hash"], "hash"), (seq - 1, prev, "prev")) if kept else ():
            same(field, self.chains.setdefault((chain, place), link), link, f"another receipt at place {place} of {chain}: a fork")
        if kept: log.put(0, index, leaf, "merkle.index")
        log.tree(size, root)
        for smaller, tree in zip((index, index + 1), shown[0]):
            if 0 < smaller < size and (kept or smaller in log.signed): log.begins(smaller, tree, size)
        self.counts["receipts"] += "reason" not in line  # One that erased others' content stands on their lines, and is none of its own
        self.seen.setdefault(merkle["key"], (receipt["id"], self.place))
    def take(self, state, value):  # One JSON value of a file; the state is `None`, "loose", an open export or "between" exports
        def has(names): return type(value) is dict and any(name in value for name in names.split())
        self.receipt = inner.get("id") if type(inner := type(value) is dict and value.get("receipt", value)) is dict else None
        if has("procura") or has("export") and not has("receipt input output content"):
            need(state in (None, "between"), "export", "a header stands inside a file, or where a manifest is missing")
            export, before = Export(strict(value, HEADER), self), self.exports.get(value["export"])
            need(not before or before[0] != self.number, "export", f"export {value['export']} is repeated: it was read before")
            if before: same("export", before[1], export.hash, f"another export {value['export']} was read before")
            self.exports[value["export"]] = self.number, export.hash
            return "several" if state and self.alone else export
        need(state != "between", "export", "a line stands after the export's manifest")
        if isinstance(state, Export):
            same("export", state.header["export"], strict(value, LINE).get("export", "absent"), "the line is not of this export")
            self.hold(value["receipt"], value, not self.alone)
            self.counts["exports"] += bool(is_last := state.line(value))
            return "between" if is_last else state
        if has("input output content export"): same("export", "absent", strict(value, LINE).get("export", "absent"), "a line of an export whose header is missing")
        elif has("receipt"):
            receipt, rest = strict(value["receipt"], RECEIPT, "/receipt"), {name: value[name] for name in value if name != "receipt"}
            for member in {"outcome", "mandate_version", "policy_version"} & receipt.keys() & rest.keys():
                same(member, receipt[member], rest[member], "the receipt in the answer says otherwise")
            if rest and receipt["kind"] == "gate.evaluate": same("output_hash", hash_of(rest), receipt["output_hash"], "the answer was changed")
            value = {"receipt": receipt, **({"output": rest} if hash_of(rest) == receipt["output_hash"] else {})}
        elif has("hash auth merkle prev chain input_hash"): value = {"receipt": strict(value, RECEIPT)}
        else:
            need(has("path to"), "", "not a receipt, line, answer, export, proof, tile or checkpoint", status=1 if state else 2)
            self.proofs.append((self.place, strict(value, PROOF)))
            return "loose"
        self.hold(value["receipt"], value)
        self.counts["loose"] += 1
        return "loose"
    def read(self, name, file):  # One file: a tile by its name, a note, or JSON of one value or of one a line
        state, self.place, self.receipt, self.number, match = None, name, None, self.number + 1, TILE.fullmatch(name)
        if match:
            data, level, number = file.read(LARGEST), int(match[2]), int(re.sub("[x/]", "", match[3]))
            same("tile", 32 * int(match[4] or 256), len(data), "it has another length than its name says")
            return self.tiles.append((name, match[1], level, number, [data[i:i + 32] for i in range(0, len(data), 32)]))
        source = enumerate(iter(lambda: file.readline(LARGEST + 1), b""), 1)
        for number, line in (lines := ((number, line) for number, line in source if line.strip(BLANK))):
            self.place = f"{name} line {number}"
            need(len(line) <= LARGEST, "", "the line is too long", status=2)
            if state is None and not line.lstrip(BLANK).startswith(b"{"):
                text = (line + file.read(LARGEST)).decode("utf-8", "replace")
                need("\n\n" + MARK in text and "\ufffd" not in text, "", "neither JSON nor a signed note, nor named as a tile", status=2)
                return self.notes.append((name, text))
            value, wrong = parse(line)
            if wrong and state is None:
                _, second = next(lines, (0, b""))
                need(type(parse(second)[0]) is not dict, "", wrong)
                value, wrong = parse(line + second + file.read(LARGEST)) if second else (None, wrong)
                need(not wrong, "", wrong, status=2)
            need(not wrong, "", wrong)
            state = self.take(state, value)
            if state == "several":  # The lines of the first were not kept: from the beginning, keeping them
                need(name != "-" and os.path.isfile(name), "", "several exports stand in one stream, which is read once: give them as files", status=2)
                return file.seek(0), self.__init__(self.given, False), self.read(name, file)
        need(state, "", "it holds nothing", status=2)
        need(not isinstance(state, Export), "export", "it ends without its manifest: it was cut")
    def note(self, name, text):  # Opens a checkpoint that stands for itself, with the key that was given or one that receipts are under
        self.place, self.receipt, origin = name, None, text.split("\n")[0]
        need("\n\n" + MARK in text, "", "not a signed checkpoint", status=2)
        keys = [self.given] if self.given else [key for key in self.seen if key.split("+")[0] == origin]
        opened = [(key, one) for key in keys if (one := attempt(open_checkpoint, text, read_key(key), "checkpoint"))]
        need(opened, "checkpoint", f"{len(keys)} keys are known for the log {ascii(origin)} and none opens it; give one with --key")
        return self.log(origin).tree(*opened[0][1]) or opened[0][0]
    def finish(self, outside):
        for note in self.notes: self.note(*note)
        key, notes, proofs = outside and self.note(*outside), [], collections.defaultdict(list)
        for other, (self.receipt, self.place) in self.seen.items(): same("merkle.key", key or other, other, "not that of the checkpoint given")
        origins, self.receipt = {name.removesuffix("checkpoint"): text.split("\n")[0] for name, text in self.notes}, None
        only = next(iter(self.logs)) if len(self.logs) == 1 else None
        def log_of(origin): return self.log(need(origin or only, "", "no checkpoint says which log it is of", status=2))
        for self.place, base, level, number, hashes in self.tiles:
            log = log_of(origins.get(base))
            for i, node in enumerate(hashes, number << 8): log.put(8 * level, i, node, "tile")
            log.tiled = max(log.tiled, (number << 8) + len(hashes) << 8 * level)
        for self.place, proof in self.proofs:
            proofs[log_of(proof.get("origin"))].append((proof["from"], proof["to"], [bytes_of(node) for node in proof["path"]], self.place))
        for self.place, log in self.logs.items(): log.settle(proofs[log], notes)
        return notes
def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("files", nargs="+", metavar="FILE", help="or a directory that holds a log's checkpoint and tiles; - is standard input")
    options.add_argument("--checkpoint", metavar="FILE", help="a signed checkpoint from elsewhere: every receipt must be of that log")
    options.add_argument("--key", help="the log's key, known from elsewhere: any other is a failure")
    options, files = options.parse_args(), []
    for name in options.files:
        walked = (os.path.join(folder, file) for folder, _, names in os.walk(name) for file in names)
        files += sorted(file for file in walked if TILE.fullmatch(file) or file == os.path.join(name, "checkpoint")) or [name]
    verifier = Verifier(options.key, files == options.files[:1])
    try:
        outside = options.checkpoint and (options.checkpoint, open(options.checkpoint, encoding="utf-8", newline="").read())
        need(not options.key or read_key(options.key), "--key", "")
        for name in files:
            with sys.stdin.buffer if name == "-" else open(name, "rb") as file: verifier.read(name, file)
        notes, counts = verifier.finish(outside), verifier.counts
    except (OSError, ValueError) as fault:
        status, named = getattr(fault, "status", 2) if verifier.place else 2, verifier.receipt and f"receipt {ascii(verifier.receipt)}"
        said = ", ".join(filter(None, (verifier.place, named, str(fault)))).encode("utf-8", "backslashreplace").decode()
        return print("cannot be verified:" if status == 2 else "does not hold:", said, file=sys.stderr) or status
    if verifier.seen and not options.key: notes.append("the key in the file was used: give one you know from elsewhere with --key")
    if counts["loose"]: notes.append("completeness is not shown: only an export shows that none is missing")
    checked = f"checked {counts['receipts']} receipts, {counts['exports']} whole exports, {len(verifier.notes) + bool(outside)} checkpoints"
    return print(checked, *(f"note: {note}" for note in notes), "all hold", sep="\n") or 0
if __name__ == "__main__": sys.exit(main())
