"""Measures Jinja2 as transformers sets it up, and the tokenizers library. Prints one JSON object.

    peers.py render TEMPLATE VARS SECONDS
    peers.py tokenize TOKENIZER TEXT SECONDS
"""
import array
import json
import statistics
import sys
import time
import zlib


def timed(seconds, f, least=3):
    times, begin = [], time.perf_counter()
    while len(times) < least or time.perf_counter() - begin < seconds:
        at = time.perf_counter()
        f()
        times.append((time.perf_counter() - at) * 1e3)
    return statistics.median(times)


def environment():
    import jinja2
    import jinja2.ext
    from datetime import datetime
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda f: datetime.now().strftime(f)
    return env


def render(template, variables, seconds):
    env = environment()
    with open(template, encoding="utf-8", newline="") as f:
        compiled = env.from_string(f.read())
    with open(variables, encoding="utf-8") as f:
        given = {"tools": None, "documents": None, "add_generation_prompt": False} | json.load(f)
    text = compiled.render(**given).encode()
    return {"bytes": len(text), "crc32": "%08x" % zlib.crc32(text), "warm": timed(seconds, lambda: compiled.render(**given))}


def tokenize(vocabulary, prompt, seconds):
    from tokenizers import Tokenizer

    with open(prompt, encoding="utf-8", newline="") as f:
        text = f.read()
    loads, colds = [], []
    for _ in range(3):
        at = time.perf_counter()
        tok = Tokenizer.from_file(vocabulary)
        loads.append((time.perf_counter() - at) * 1e3)
        at = time.perf_counter()
        ids = tok.encode(text, add_special_tokens=False).ids
        colds.append((time.perf_counter() - at) * 1e3)
    raw = array.array("I", ids)
    if sys.byteorder != "little":
        raw.byteswap()
    return {
        "bytes": len(text.encode()),
        "tokens": len(ids),
        "crc32": "%08x" % zlib.crc32(raw.tobytes()),
        "load": statistics.median(loads),
        "cold": statistics.median(colds),
        "warm": timed(seconds, lambda: tok.encode(text, add_special_tokens=False)),
        "two": timed(seconds, lambda: tok.encode_batch([text, text], add_special_tokens=False)) / 2,
    }


if __name__ == "__main__":
    what, a, b, seconds = sys.argv[1:]
    print(json.dumps({"render": render, "tokenize": tokenize}[what](a, b, float(seconds))))
