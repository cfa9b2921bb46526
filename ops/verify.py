#!/usr/bin/env python3
"""Checks receipts, exports, checkpoints, proofs, tiles and entry bundles offline, with the standard library alone.
A second opinion beside `procura verify`: no code in common, the same files, the same status (0 all hold, 1 something does not, 2 unreadable)."""
import argparse, base64, collections, datetime, decimal, functools, hashlib, json, math, os, re, sys
LARGEST, DEEPEST, EXACT, BLANK, MARK, ZERO = 16 << 20, 40, 2**53 - 1, b" \t\n\r\x0c", "\n\n\u2014 ", "sha256:" + 64 * "0"
class Fault(ValueError):  # The first thing that does not hold: both values, where if not here, and where the other of two stands
    def __init__(self, field, detail, expected=None, found=None, site=None, other=None, status=1):
        super().__init__(detail)
        self.field, self.site, self.other, self.status = field, site, other, status
        self.values = [value if value is None else text_of(value) for value in (expected, found)]
def text_of(value): return "sha256:" + value.hex() if type(value) is bytes else str(value)
def fail(error): raise error
def need(holds, *said, **where): return holds or fail(Fault(*said, **where))
def same(field, expected, found, detail, **where): need(type(expected) is type(found) and expected == found, field, detail, expected, found, **where)
def attempt(work, *given):
    try: return work(*given)
    except ValueError: return None
def once(pairs): return need(len(members := dict(pairs)) == len(pairs), "", "a member stands twice") and members
def number(text):
    need(math.isfinite(double := float(text)) and decimal.Decimal(text) == decimal.Decimal(repr(double)), "", f"`{text[:40]}` is no double")
    return double if text == "-0" or set(text) & set(".eE") else int(text)
def parse(data):  # JSON, read strictly (RFC 8259), written in its one spelling (RFC 8785): the value, or what is wrong
    try:
        value = json.loads(data.decode(), object_pairs_hook=once, parse_int=number, parse_float=number, parse_constant=number)
        return value, jcs(value).encode() and None  # it cannot be written where it is too deep, or half a surrogate pair stands in it
    except (ValueError, ArithmeticError, RecursionError, MemoryError) as error: return None, f"not JSON: {error}"[:200]
def es6(double):
    if not 1e-6 <= abs(double) < 1e21: return re.sub(r"(\.0)?e([+-])0*", r"e\2", repr(double))
    return re.sub(r"(\.\d*?)0*$", lambda rest: rest[1].rstrip("."), format(decimal.Decimal(repr(double)), "f"))
def jcs(value, deep=1, quoted=json.encoder.encode_basestring):
    if value is None or type(value) in (str, bool): return (quoted if type(value) is str else json.dumps)(value)
    if type(value) in (int, float): return str(value) if type(value) is int and abs(value) <= EXACT else es6(float(value)) if value else "0"
    need(deep <= DEEPEST, "", f"nested deeper than {DEEPEST}")
    if type(value) is list: return "[" + ",".join([jcs(item, deep + 1) for item in value]) + "]"
    return "{" + ",".join([f"{quoted(name)}:{jcs(value[name], deep + 1)}" for name in sorted(value, key=lambda name: name.encode("utf-16-be"))]) + "}"
def sha(data): return hashlib.sha256(data).digest()
def bytes_of(text): return bytes.fromhex(text.partition(":")[2])
def hash_of(value): return text_of(sha(jcs(value).encode()))
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # Ed25519 (RFC 8032 §5.1), no multiplication by the cofactor
D, ROOT = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)
def point(encoded):
    sign, y = encoded[31] >> 7, int.from_bytes(encoded, "little") & (1 << 255) - 1
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = root if (root := pow(square, (P + 3) // 8, P)) ** 2 % P == square else root * ROOT % P
    x = P - x if x & 1 != sign else x
    return (x, y, 1, x * y % P) if y < P and x * x % P == square and x < P and x & 1 == sign else None
def add(p, q):
    a, b, c, d = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0]), 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    return (b - a) * (d - c) % P, (d + c) * (b + a) % P, (d - c) * (d + c) % P, (b - a) * (b + a) % P
def times(scalar, p): return functools.reduce(lambda sum, bit: add(add(sum, sum), p) if bit == "1" else add(sum, sum), f"{scalar:b}", (0, 1, 1, 0))
BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
def verifies(key, message, signature):
    a, s = point(key), int.from_bytes(signature[32:], "little")
    if a is None or len(signature) != 64 or s >= ORDER: return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    x, y, z, _ = add(times(s, BASE), times(k, (-a[0] % P, a[1], 1, -a[3] % P)))
    return (y * pow(z, -1, P) % P | (x * pow(z, -1, P) % P & 1) << 255).to_bytes(32, "little") == signature[:32]
def pair(left, right): return sha(b"\1" + left + right)  # The tree (RFC 9162 §2.1): a zero byte before a leaf, a one before a node
def climb(node, last, path, left, right):  # Each of `left` grows by what is left of it, `right` by all (§2.1.3.2, §2.1.4.2)
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
def shown(i, size, root, path, leaf, field, other=None):  # The roots of the first i and i + 1 leaves, by the path of leaf i that must lead to the root
    up = i < size and climb(i, size - 1, path, [None, leaf], leaf or b"")
    need(up and (not leaf or up[1] == root), field, f"it does not lead from leaf {i} to the root of {size} leaves", other=other)
    return [(smaller, tree, size) for smaller, tree in zip((i, i + 1), up[0]) if leaf and 0 < smaller < size]
def base64_of(text, field, length=None):  # Signed notes (C2SP signed-note, tlog-checkpoint)
    raw = attempt(base64.b64decode, text, None, True) or b""
    return need(base64.b64encode(raw).decode() == text and length in (None, len(raw)), field, "not base64 in its one spelling, or too long or short") and raw
def is_name(text): return bool(text) and "+" not in text and not any(letter.isspace() for letter in text)
def read_key(text, field="key"):  # Name, id, algorithm and public key of a verifier key
    name, key_id, encoded = (text.split("+", 2) + ["", ""])[:3]
    raw = base64_of(encoded, field, 33)
    need(sha(name.encode() + b"\n" + raw)[:4].hex() == key_id and is_name(name) and raw[0] in (1, 4), field, f"`{text}` is not a verifier key")
    return name, bytes.fromhex(key_id), raw[0], raw[1:]
@functools.lru_cache
def open_checkpoint(note, key, field):  # Size and root of a checkpoint that the key signed
    (before, _, signatures), signed = note.rpartition("\n\n"), False
    need(signatures[-1:] == "\n" and signatures.count("\n") <= 100 and not re.search("[\0-\x09\x0b-\x1f]", note), field, "not of the form of a signed note")
    for line in signatures[:-1].split("\n"):
        signer, _, encoded = line.removeprefix(MARK[2:]).partition(" ")
        raw = base64_of(encoded, field)
        need(line.startswith(MARK[2:]) and is_name(signer) and len(raw) > 4, field, "not a signature line")
        if (signer, raw[:4]) == key[:2]:
            need(signed := verifies(key[3], (before + "\n").encode(), raw[4:]), field, f"the signature of `{signer}` does not fit the text")
    origin, size, root, *more = before.split("\n") + [""] * 3
    is_head = signed and origin == key[0] and "" not in more[:-3] and re.fullmatch("0|[1-9][0-9]{0,19}", size) and int(size) < 2**64
    return need(is_head, field, f"no origin, size and root that the key of `{key[0]}` signed") and (int(size), base64_of(root, field, 32))
def spelt(pattern): return lambda value: type(value) is str and re.fullmatch(pattern, value, re.ASCII) is not None
def identifier(prefixes): return spelt(f"(?:{prefixes})_[0-7][0-9a-hjkmnp-tv-z]{{25}}")
def is_time(value): return CHECKS["form"](value) and attempt(datetime.datetime.fromisoformat, value[:-1]) is not None
KINDS = """gate.evaluate gate.replay gate.withdrawn mandate.put policy.put catalogue.put principal.create principal.password agent.create agent.retire
    credential.create credential.derive credential.revoke enforcement_point.create enforcement_point.revoke decision.approve decision.decline decision.expire
    decision.renew decision.withdraw decision.resolve effect.outcome question.ask question.receive question.lost question.answer question.answered question.fetch question.withdraw question.expire access.minute log.gap log.restore content.erase retention.put key.rotate export tenant.setup"""
DECIDED = ("gate.evaluate", "question.ask", "question.answer", "question.receive")
CHECKS = {"any": lambda _: True, "text": lambda value: type(value) is str, "count": lambda value: type(value) is int and 0 <= value <= EXACT,
    "one": lambda value: type(value) is int and value == 1, "time": is_time, "when": lambda value: value is None or is_time(value), "salt": spelt("[0-9a-f]{32}"),
    "hash": spelt("sha256:[0-9a-f]{64}"), "auth": spelt("hmac-sha256:[0-9a-f]{64}"), "slug": spelt("[a-z0-9-]{1,63}"), "kind": KINDS.split().__contains__,
    "chain": identifier("crd|prn|tnt"), "outcome": spelt("allow|escalate|refuse"), "procura": spelt("export"), "source": spelt("described|derived|attested"),
    "form": spelt(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), **{name: identifier(name) for name in "rcpt prn agt crd key exp".split()}}
def shape(text, **inner): return {name: {**CHECKS, **inner}[kind] for name, kind in (member.split(":") for member in text.split())}
MERKLE = shape("index:count size:count root:hash path:hashes checkpoint:text key:text", hashes=[CHECKS["hash"]])
RECEIPT = shape("""id:rcpt at:time tenant:slug principal?:prn agent?:agt credential?:crd kind:kind outcome?:outcome mandate_version?:count
    policy_version?:count catalogue_version?:count engine_version:text facts_from?:source input_hash:hash output_hash:hash chain:chain seq:count
    prev:hash hash:hash auth_key:key auth:auth merkle:merkle""", merkle=MERKLE)
LINE = shape("export?:exp receipt:receipt input:any output:any content?:any erased?:erased", receipt=RECEIPT,
             erased=shape("at:time reason:text receipt:receipt input:any output:any", receipt=RECEIPT))
HEADER = shape("""procura:procura version:one subject:subject export:exp tenant:slug from:when until:when at:time origin:text key:text size:count
    root:hash checkpoint:text""", subject=shape("credential?:crd agent?:agt principal?:prn tenant?:slug"))
GROWTH, OPENING, COMMITMENT = shape("origin?:text from:count to:count path:hashes", hashes=MERKLE["path"]), shape("salt:salt value:any"), shape("commitment:hash")
LIVE = {"mandate.put": "mandate_version", "policy.put": "policy_version", "catalogue.put": "catalogue_version"}
STATED = {"tenant": "", "principal": "prn_", "agent": "agt_", "credential": "crd_", "facts_from": "", "engine_version": "", **dict.fromkeys(LIVE.values())}
def strict(value, form, place=""):  # Every member known, none missing (`?` marks those that may be), each in its one spelling
    need(type(value) is type(form) if type(form) in (list, dict) else form(value), place, f"`{str(value)[:80]}` is not of the form it has")
    for position, item in enumerate(value if type(form) is list else ()): strict(item, form[0], f"{place}/{position}")
    for name, plain in ((name, name.rstrip("?")) for name in form) if type(form) is dict else ():
        need(name != plain or name in value, f"{place}/{name}", "missing")
        if plain in value: strict(value[plain], form[name], f"{place}/{plain}")
    for name in value if type(form) is dict else (): need("?" not in name and (name in form or name + "?" in form), f"{place}/{name}", "unknown member")
    return value
def resolve(pointer, line):
    name, *tokens = pointer[1:].split("/")
    value = line.get(name) if pointer[:1] == "/" and name in ("input", "output") else None
    for token in (token.replace("~1", "/").replace("~0", "~") for token in tokens):
        at = int(token) if type(value) is list and re.fullmatch("0|[1-9][0-9]{0,9}", token) else EXACT
        value = value.get(token) if type(value) is dict else value[at] if type(value) is list and at < len(value) else None
    return value
TILE = re.compile(r"((?:.*/)?)tile/(entries|[1-5]?\d|6[0-3])/(?!x000/)((?:x\d{3}/){0,5}\d{3})(?:\.p/([1-9]\d?|1\d\d|2[0-4]\d|25[0-5]))?", re.ASCII | re.S)
LEAF_PROOF = re.compile(r"c2sp\.org/tlog-proof@v1\n(?:extra (.*)\n)?index (0|[1-9][0-9]{0,19})((?:\n.+)*)\n\n((?s:.*))")
def place_of(site): return site[0] + (f" line {site[1]}" if site[1] else "") + (f", receipt {site[2]}" if site[2] else "")
def unheld(what, site): return f"the {what} in {place_of(site)} is held against nothing"
class Verifier:
    def __init__(self, key, is_alone, narrowing):
        self.given, self.is_alone, self.narrowing, self.site, self.number, self.counts = key, is_alone, narrowing, None, 0, collections.Counter()
        self.known, self.built, self.seen, self.tiled, self.notes, self.tiles, self.growths = {}, {}, {}, {}, [], [], []
        self.signed, self.above, self.acts = collections.defaultdict(set), collections.defaultdict(set), collections.defaultdict(dict)
    def agree(self, field, value, what, *key):  # What is read first of something is kept, with where it was; what differs from it later is a fork
        same(field, self.known.setdefault(key, (value, self.site))[0], value, f"another {what} was read before: a fork", other=self.known[key][1])
    def tree(self, origin, size, root, whole=None):  # A root that is signed, or shown by a path under the signed one of `whole` leaves
        need(size or root == sha(b""), "merkle.root", "a tree without leaves has another root", sha(b""), root)
        self.agree("merkle.root", root, f"root of the log `{origin}` at size {size}", "root", origin, size)
        self.above[origin, size].add(whole) if whole else self.signed[origin].add(size)
    def put(self, origin, level, i, node, field):
        self.agree(field, node, f"node {i} of level {level} of the log `{origin}`" if level else f"leaf {i} of the log `{origin}`", "node", origin, level, i)
    def node(self, origin, level, i):  # The root of 2^level leaves from leaf i·2^level on, made of what is below it where that is known, or else as read
        if (origin, level, i) not in self.built:
            right = (left := self.node(origin, level - 1, 2 * i) if level else None) and self.node(origin, level - 1, 2 * i + 1)
            stated, site = self.known.get(("node", origin, level, i), (None, None))
            self.built[origin, level, i] = built = pair(left, right) if right else stated
            same("tile", built, stated or built, f"node {i} of level {level} is not that of what stands below it", site=site)
        return self.built[origin, level, i]
    def root(self, origin, size):
        nodes = [self.node(origin, level, (size >> level) - 1) for level in range(64) if size >> level & 1]
        return None if None in nodes else functools.reduce(lambda right, left: pair(left, right), nodes)
    def settle(self, origin, notes):  # Holds every signed root of a log against leaves, tiles and proofs, and notes what they do not show
        sizes, whole, top, of = sorted(self.signed[origin] - {0}, reverse=True), 0, {}, f"of the log `{origin}`"
        for size, root in [(size, root) for size in sizes if (root := self.root(origin, size))]:
            whole, (signed, site) = max(whole, size), self.known["root", origin, size]
            same("merkle.root", root, signed, f"it is not the root of the first {size} leaves {of} that were read", site=site)
            self.above[origin, size].add(whole)
        for site, one in [(site, one) for name, site, one in self.growths if name == origin]:
            (old, new), path = (one["from"], one["to"]), [bytes_of(node) for node in one["path"]]
            roots, is_held = [self.known.get(("root", origin, size), [None])[0] for size in (old, new)], {old, new} <= self.signed[origin] | {0}
            need(not is_held or is_consistent(old, new, *roots, path), "path", f"it does not lead from {old} to {new} leaves", *roots, site=site)
            self.above[origin, old].add(new) if is_held else notes.append(unheld(f"consistency proof from {old} to {new} leaves", site))
            self.counts["proofs"] += is_held
        for size in sizes:
            top[size] = max([top[above] for above in self.above[origin, size] if above > size and above in top], default=size)
            if top[size] == size != sizes[0]: notes.append(f"that the trees of {size} and {sizes[0]} leaves {of} are of one history is not shown")
        if self.tiled.get(origin, 0) > whole: notes.append(f"tiles {of} are not held against a checkpoint beyond {whole} leaves")
    def narrowed(self, origin):  # Walks a log in its order: no answer used what was over by then; gives how much was held against how much
        live, over, parents, gaps, due, counts, acts, size = {}, {None: None}, {}, [], 0, collections.Counter(), self.acts[origin], max(self.signed[origin])
        for index, (site, act, child, parent, *revoked) in sorted(acts.items()):
            gaps += [{"first": due, "last": index - 1}] * (index > due)
            due, kind, outcome, holders = index + 1, act["kind"], act["outcome"] or "absent", [act["agent"], act["credential"]]
            counts.update(answers=(is_answer := kind in (*DECIDED, "gate.replay")), changes=(ends := kind in ("credential.revoke", "agent.retire")))
            for name in [name for name in LIVE.values() if act[name] is not None and (is_answer or LIVE.get(kind) == name)]:
                of, version, counts["changes"] = (name, name == "mandate_version" and act["principal"]), act[name], counts["changes"] + (not is_answer)
                (known, other), wrong = live.get(of, (-1, None)), "an older version was used" if is_answer else "it or a newer one was named before"
                need(version >= known + (not is_answer), name, wrong, f"{known + (not is_answer)} or newer", version, site=site, other=other)
                live[of] = (version, site) if version > known else live[of]
            while holders[-1] and len(holders) <= 64: holders.append(parents.get(holders[-1]))
            gone = next(filter(over.get, holders * (is_answer and outcome != "refuse")), None)
            need(not gone, "outcome", f"{gone} had ended before", "refuse", outcome, site=site, other=over.get(gone))
            for one in revoked + [act["agent"]] * (kind == "agent.retire") if ends else (): over.setdefault(one, site)
            if kind == "credential.derive" and child: parents[child] = parent or act["credential"]
        gaps += [{"first": due, "last": size - 1}] * (due < size)
        return {"origin": origin, **counts, "first": min(acts), "last": max(acts), "size": size, "not_read": gaps}
    def open(self, note, key_text, prefix, tenant):  # The log that a checkpoint with the key beside it is of, its size and root
        need((key := read_key(key_text, prefix + "key"))[2] == 1, prefix + "key", "a witness's key, not a log's")
        same(prefix + "key", self.given or key_text, key_text, "it is not under the key that was given")
        need(key[0].endswith("/log/" + tenant), "merkle.checkpoint", "the checkpoint is of another tenant's log", "…/log/" + tenant, key[0])
        return key[0], *open_checkpoint(note, key, prefix + "checkpoint")
    def hold(self, receipt, line):  # Checks a receipt by itself, then against all that was read before
        self.site = *self.site[:2], receipt["id"]
        same("hash", hash_of({name: receipt[name] for name in receipt.keys() - {"hash", "auth", "merkle"}}), receipt["hash"], "its body has another hash")
        merkle, chain, seq, prev, kind = receipt["merkle"], receipt["chain"], receipt["seq"], receipt["prev"], receipt["kind"]
        need((seq == 0) == (prev == ZERO), "prev", f"at place {seq} of its chain it is {prev}")
        for name in sorted(line.keys() & {"input", "output"}): same(name + "_hash", hash_of(line[name]), receipt[name + "_hash"], "its document has another hash")
        said = (documents := {name: line[name] for name in ("input", "output") if type(line.get(name)) is dict}).get("output", {}).get("outcome")
        if "output" in line and (kind in DECIDED or kind == "gate.replay" and type(said) is str):
            same("outcome", said if type(said) is str else "absent", receipt.get("outcome", "absent"), "the answer has another outcome")
        for name, member, prefix in [(name, *stated) for name in documents for stated in STATED.items() if kind in DECIDED]:
            said = documents[name].get(member)
            if type(said) in (int, float) if prefix is None else type(said) is str and said.startswith(prefix):
                same(member, said, receipt.get(member, "absent"), f"the {name} document says otherwise")
        need(type(line.get("content", {})) is dict, "content", "an object of openings by pointer is expected")
        for pointer, entry in line.get("content", {}).items():
            stands, field = resolve(pointer, line), f"content {pointer}"
            opened = strict(stands, COMMITMENT, field) and sha(bytes.fromhex(strict(entry, OPENING, field)["salt"]) + jcs(entry["value"]).encode())
            same(field, text_of(opened), stands["commitment"], "it does not open the commitment it points at")
        index, size, root = merkle["index"], merkle["size"], bytes_of(merkle["root"])
        leaf = sha(b"\0" + jcs({"auth": receipt["auth"], "hash": receipt["hash"]}).encode())
        beside = shown(index, size, root, [bytes_of(node) for node in merkle["path"]], leaf, "merkle.path")
        origin, *signed = self.open(merkle["checkpoint"], merkle["key"], "merkle.", receipt["tenant"])
        for field, one, other in zip(("size", "root"), signed, (size, root)): same("merkle." + field, one, other, f"its checkpoint has another {field}")
        for place, link, field in ((seq, receipt["hash"], "hash"), (seq - 1, prev, "prev"))[:seq + 1]:
            self.agree(field, link, f"receipt at place {place} of {chain}", "chain", chain, place)
        self.put(origin, 0, index, leaf, "merkle.index")
        for tree in ((size, root), *[one for one in beside if not self.is_alone or one[0] in self.signed[origin]]): self.tree(origin, *tree)
        output, parent = documents.get("output", {}), documents.get("input", {}).get("parent")
        ids = output.get("id"), parent, receipt.get("credential"), *(listed if type(listed := output.get("revoked")) is list else ())
        act = {name: receipt.get(name) for name in ("kind", "outcome", *STATED)}, *[one if CHECKS["crd"](one) else None for one in ids]
        if self.narrowing: self.acts[origin].setdefault(index, (self.site, *act))
        self.counts["receipts"] += 1
        self.seen.setdefault(merkle["key"], self.site)
    def erase(self, receipt, gone, is_there):  # The receipt that is said to have erased a line's content must be of it, and hold
        by, says = gone["receipt"], gone["input"] if type(gone["input"]) is dict else {}
        is_listed = type(listed := says.get("receipts")) is list and receipt["id"] in listed and receipt["merkle"]["index"] < by["merkle"]["index"]
        found = [by["kind"], by["tenant"], gone["at"], gone["reason"], is_listed, is_there]
        same("erased", ["content.erase", receipt["tenant"], by["at"], says.get("reason"), True, False], found, "not so, by the receipt beside it")
        self.hold(by, gone)
        self.counts["receipts"] -= 1  # It stands on this line, and is none of its own
    def export(self, header):  # Opens an export; every line that is sent to it is of it and in order, and the last, the manifest, says the same
        subject, tenant, since, until, name = header["subject"], header["tenant"], header["from"], header["until"], header["export"]
        need(len(subject) == 1 and subject.get("tenant", tenant) == tenant, "/subject", "one subject, of this tenant, is expected")
        ((kind, whose),), origin, size, root = subject.items(), *self.open(header["checkpoint"], header["key"], "", tenant)
        for field, found in (("origin", origin), ("size", size), ("root", text_of(root))): same(field, found, header[field], f"its checkpoint has another {field}")
        need(not (since and until) or since < until, "until", "not after `from`", since, until)
        need(("export", name, self.number) not in self.known, "export", f"export {name} is repeated: it was read before")
        for key in (name,), (name, self.number): self.agree("export", hash_of(header), f"export {name}", "export", *key)
        self.tree(origin, size, root)
        digest, chains, lines, first, last, index, wrong = hashlib.sha256(), {}, 0, None, None, -1, "a line is missing, repeated or out of order"
        while True:
            receipt, output, merkle = (line := (yield False))["receipt"], line["output"], line["receipt"]["merkle"]
            same("merkle.key", header["key"], merkle["key"], "the header names another key")
            need(merkle["size"] >= size, "merkle.size", "its path leads to fewer leaves than the header has", size, merkle["size"])
            if receipt["kind"] == "export" and type(output) is dict and output.get("export") == name: break
            need((since or "") <= receipt["at"] < (until or "a"), "at", "outside the export's time", "a time inside", receipt["at"])
            need(whose in (receipt.get(kind), receipt["chain"]), kind, f"the export is of another {kind}", whose, receipt.get(kind, "absent"))
            chain, seq, due, so_far = receipt["chain"], receipt["seq"], index + 1, chains.get(receipt["chain"])
            is_whole, next_seq = kind == "tenant" or chain[:4] == "crd_" or chain == whose, so_far["last_seq"] + 1 if so_far else 0
            need(seq == next_seq or seq > next_seq and not is_whole or not so_far and (since or not is_whole), "seq", wrong, next_seq, seq)
            index, so_far = merkle["index"], so_far or {"chain": chain, "first_seq": seq, "lines": 0}
            need(index == due or index > due and (kind != "tenant" or not lines and since), "merkle.index", wrong, due, index)
            chains[chain] = {**so_far, "last_seq": seq, "last_hash": receipt["hash"], "lines": so_far["lines"] + 1}
            lines, first, last = lines + 1, first or receipt["hash"], digest.update(sha(jcs(line).encode())) or receipt["hash"]
        for member in ("content", "erased"): need(member not in line, member, "the manifest's line has none")
        stated = {"export": name, "header": hash_of(header), "lines": lines, "chains": [chains[chain] for chain in sorted(chains)],
                  "first": first, "last": last, "digest": text_of(digest.digest())}
        for member in [*stated, *output]:
            both = (json.dumps(one[member], sort_keys=True) if member in one else "absent" for one in (stated, output))
            same(f"output.{member}", *both, "the manifest states another value than the lines of the file give")
        same("output.lines", size, index + 1 if kind == "tenant" and not until and (lines or not since) else size, "the lines end before the log does")
        yield need(receipt["at"] >= header["at"], "at", f"the manifest is older than the header, {header['at']}")
    def take(self, state, value):  # One JSON value of a file; the state is `None`, "loose", an open export or "between" exports
        names, is_open, self.counts["lines"] = set(value) if type(value) is dict else set(), type(state) is tuple, self.counts["lines"] + 1
        if "procura" in names or "export" in names and not names & {"receipt", "input", "output", "content"}:
            need(state in (None, "between"), "export", "a header stands inside a file, or where a manifest is missing")
            next(export := self.export(strict(value, HEADER)))
            return need(not state or not self.is_alone, "", "several exports in one stream, read once: give them as files", status=2) and (value["export"], export)
        need(state != "between", "export", "a line stands after the export's manifest")
        if is_open or names & {"input", "output", "content", "export"}: line = strict(value, LINE)
        elif "receipt" in names:
            receipt, rest = strict(value["receipt"], RECEIPT, "/receipt"), {name: value[name] for name in names - {"receipt"}}
            self.site, is_covered = (*self.site[:2], receipt["id"]), hash_of(rest) == receipt["output_hash"]
            for member in [name for name in ("outcome", "mandate_version", "policy_version") if name in receipt and name in rest]:
                same(member, json.dumps(receipt[member]), json.dumps(rest[member]), "the receipt in the answer says otherwise")
            if rest and receipt["kind"] in DECIDED[:3]: need(is_covered, "output_hash", "the answer was changed", receipt["output_hash"], hash_of(rest))
            line = {"receipt": receipt, **({"output": rest} if is_covered else {})}
        elif names & {"hash", "auth", "merkle", "prev", "chain", "input_hash"}: line = {"receipt": strict(value, RECEIPT)}
        else:
            need(names & {"path", "to"}, "", "not a receipt, a line, an answer, an export, a proof or a checkpoint", status=1 if state else 2)
            return self.growths.append((self.site, strict(value, GROWTH))) or "loose"
        self.site = *self.site[:2], line["receipt"]["id"]
        same("export", state[0] if is_open else "absent", line.get("export", "absent"), "the line is not of this export, or its header is missing")
        if "erased" in line: self.erase(line["receipt"], line["erased"], "content" in line)
        self.hold(line["receipt"], line)
        is_last = is_open and state[1].send(line)
        self.counts.update(exports=is_last, loose=not is_open)
        return "between" if is_last else state if is_open else "loose"
    def read(self, name, file):  # One file: a tile by its path, a note or a leaf's proof, or JSON of one value or of one a line
        state, self.site, self.number, match = None, (name, None, None), self.number + 1, TILE.fullmatch(name)
        if match: return self.tile(file, *match.groups())
        lines = ((at, line) for at, line in enumerate(iter(lambda: file.readline(LARGEST + 1), b""), 1) if line.strip(BLANK) or len(line) > LARGEST)
        for at, line in lines:
            self.site = name, at, need(len(line) <= LARGEST, "", "the line is too long", status=2) and None
            if not state and not line.lstrip(BLANK).startswith(b"{"): return self.text(line + file.read(LARGEST))
            value, wrong = parse(line)
            if wrong and not state and (second := next(lines, (0, b""))[1]):
                need(type(parse(second)[0]) is not dict, "", wrong)
                value, wrong = parse(line + second + file.read(LARGEST))
            need(not wrong, "", wrong, status=1 if state else 2)
            state = self.take(state, value)
        need(state, "", "it holds nothing", status=2)
        need(type(state) is not tuple, "export", "it ends without its manifest: it was cut", site=(*self.site[:2], None))
    def text(self, data, given=None):  # Keeps a note, or a leaf's proof (C2SP tlog-proof), until all keys are known
        is_proof = (text := data.decode("utf-8", "replace")).startswith("c2sp.org/tlog-proof@") and not given
        need((is_proof or MARK in text) and "\ufffd" not in text, "", "neither JSON nor a signed note, nor named as a tile", site=given, status=2)
        extra, i, path, note = need(LEAF_PROOF.fullmatch(text), "proof", "not a log proof").groups() if is_proof else ("", 0, "", text)
        need(base64_of(extra or "", "proof") is not None and int(i) < 2**64, "proof", "not a log proof: no leaf has that index")
        path = [base64_of(node, "proof", 32) for node in path.split("\n")[1:]]
        self.notes.append((given or (self.site[0], None, None), note, given, is_proof, int(i), path))
    def tile(self, file, base, level, number, width):  # Keeps a tile's hashes, or those of a bundle's entries, each behind its length (C2SP tlog-tiles)
        width, first, is_bundle, hashes, rest, at = int(width or 256), int(re.sub("[x/]", "", number)) << 8, level == "entries", [], file.read(2**24 + 2**9), 0
        need(first + width < 2**64, "entries" if is_bundle else "tile", "its name is of a place beyond any tree")
        while is_bundle and len(hashes) <= width and at + 2 <= len(rest) and (end := at + 2 + int.from_bytes(rest[at:at + 2], "big")) <= len(rest):
            hashes, at = hashes + [sha(b"\0" + rest[at + 2:end])], end
        found, what = (f"{len(hashes)}" + f" and {len(rest) - at} bytes more" * (at < len(rest)), "entries") if is_bundle else (f"{len(rest) / 32:g}", "hashes")
        same("entries" if is_bundle else "tile", str(width), found, f"it does not hold the {width} {what} that its name says, and nothing else")
        kept = (0, hashes, "entries") if is_bundle else (8 * int(level), [rest[i:i + 32] for i in range(0, len(rest), 32)], "tile")
        self.tiles.append((self.site, base, first, *kept))
        self.counts["bundles" if is_bundle else "tiles"] += 1
    def finish(self):  # Checks what only the whole shows; gives notes of what it does not, and what answers were held against
        notes, beside, proofs = [], {}, []
        for self.site, text, given, is_proof, *proof in self.notes:  # Opened with the key that was given, or else one that receipts of the log are under
            keys = [self.given] if self.given else [key for key in self.seen if key.split("+")[0] == text.split("\n")[0]]
            opened = ((text.split("\n")[0], *one, key) for key in keys if (one := attempt(open_checkpoint, text, read_key(key), "checkpoint")))
            *tree, key = need(next(opened, None), "checkpoint", f"none of {len(keys)} known keys of its log opens it: give it with --key")
            beside[self.site[0].removesuffix("checkpoint")], proofs = tree[0], proofs + [(self.site, *proof, *tree)] * is_proof
            self.tree(*tree)
            for other, site in self.seen.items() if given else ():
                same("merkle.key", key, other, "the checkpoint that was given is of another log or key", site=site, other=self.site)
        only = next(iter(self.signed)) if len(self.signed) == 1 else None
        def log_of(origin): return need(origin or only, "", "no checkpoint says which log it is of", status=2)
        for self.site, base, first, level, hashes, field in self.tiles:
            origin = log_of(beside.get(base))
            for i, node in enumerate(hashes, first): self.put(origin, level, i, node, field)
            self.tiled[origin] = max(self.tiled.get(origin, 0), first + len(hashes) << level)
        for self.site, i, path, origin, size, root in proofs:
            leaf, other = self.known.get(("node", origin, 0, i), (None, None))
            for tree in shown(i, size, root, path, leaf, "path", other): self.tree(origin, *tree)
            if not leaf: notes.append(unheld(f"inclusion proof of leaf {i}", self.site))
            self.counts["inclusion_proofs"] += bool(leaf)
        self.growths = [(log_of(one.get("origin")), self.site, one) for self.site, one in self.growths]
        for _, *place in sorted(key for key in self.known if key[0] == "node" and key[2]): self.node(*place)
        for origin in sorted({*self.signed, *(growth[0] for growth in self.growths)}): self.settle(origin, notes)
        self.counts["checkpoints"] = len(self.notes) - len(proofs)
        return notes, [self.narrowed(origin) for origin in sorted(self.acts)] if self.narrowing else None
def files_of(name):  # A file is itself; a directory is the checkpoint, the tiles and the entry bundles of the log in it
    if name == "-" or not os.path.isdir(name): return [name]
    walked = (os.path.join(folder, file) for folder, _, files in os.walk(name, onerror=fail) for file in files)
    found = sorted(file for file in walked if TILE.fullmatch(file) or file == os.path.join(name, "checkpoint"))
    return found or fail(OSError(0, "it holds neither a checkpoint nor tiles", name))
COUNTS = "receipts exports checkpoints tiles bundles proofs inclusion_proofs lines".split()
def inert(text): return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("files", nargs="+", metavar="FILE", help="or a directory that holds a log's checkpoint and tiles; - is standard input")
    options.add_argument("--checkpoint", metavar="FILE", help="a signed checkpoint from elsewhere: every receipt must be of that log")
    options.add_argument("--key", help="the log's key, known from elsewhere: any other is a failure")
    for flag, help in (("narrowing", "also hold every answer against the changes before it in the log"), ("json", "say it as one JSON value")):
        options.add_argument("--" + flag, action="store_true", help=help)
    options, notes, narrowing, said, status, what = options.parse_args(), [], None, None, 0, ""
    try:
        if (name := options.key): read_key(name)
        given = open(name, "rb").read(1 << 16).decode() if (name := options.checkpoint) else None
        files = [file for name in options.files for file in files_of(name)]
        verifier = Verifier(options.key, files == options.files[:1] and not os.path.isfile(files[0]), options.narrowing)
        for name in files:
            with sys.stdin.buffer if name == "-" else open(name, "rb") as file: verifier.read("standard input" if name == "-" else name, file)
        if given is not None: verifier.text(given.encode(), (options.checkpoint, None, None))
        notes, narrowing = verifier.finish()
    except (OSError, ValueError) as fault:
        if type(fault) is not Fault or name == options.key:
            return print(inert(f"verify.py: `{getattr(fault, 'filename', 0) or name}` cannot be read: {getattr(fault, 'strerror', 0) or fault}"), file=sys.stderr) or 2
        place, status, others = fault.site or verifier.site, fault.status, fault.other and f"; the other stands in {place_of(fault.other)}" or ""
        both = " (expected {}, found {})".format(*fault.values) if None not in fault.values else ""
        site, other = (site and dict(zip(("file", "line", "receipt"), site)) for site in (place, fault.other))
        said = {**site, "field": fault.field, **dict(zip(("expected", "found"), fault.values)), "detail": str(fault), "other": other}
        what = f"{place_of(place)}{fault.field and ', ' + fault.field}: {fault}{both}{others}"
    keys, counts = [options.key] if options.key else [*verifier.seen], {name: verifier.counts[name] for name in COUNTS}
    if verifier.counts["loose"]: notes.append("completeness is not shown: only an export shows that none is missing")
    if keys and not options.key: notes.append("the key in the file was used: give one you know from elsewhere with --key")
    report = {"verdict": ["held", "failed", "unreadable"][status], **counts, "keys": keys, "key_given": bool(options.key), "narrowing": narrowing}
    if options.json: return print(json.dumps({**report, "notes": notes, "failure": said})) or status
    print("checked " + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count))
    for line in [f"narrowing: {json.dumps(log)}" for log in narrowing or ()] + [f"note: {note}" for note in notes]: print(inert(line))
    return print(inert(("all hold", "does not hold: ", "cannot be verified: ")[status] + what), file=sys.stderr if said else sys.stdout) or status
if __name__ == "__main__": sys.exit(main())
