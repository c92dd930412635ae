"""Writes pipelines.jsonl: small vocabularies with every component that package hf reads, and what the
reference implementation makes of random text with them.

Run in this folder with the package tokenizers 0.22.2 from PyPI, as
    python3 gen.py > pipelines.jsonl
A line has the tokenizer.json, and cases of: the text, its ids, its ids with what the rule puts around it,
and the ids decoded with and without control tokens.
"""
import json
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

random.seed(20)
PARTS = [
    "a", "b", "The", "the", " ", "  ", "\n", "\t", "'s", "123", "1", "٣", "漢字", "の", "é", "e\u0301", "É", "ß", "İ", "ﬁ", "½", "<s>", "</s>", "<mask>",
    "[X]", "▁", "x", "!", "?!", "...", "-", "_", "hello", "world", "Hello", "WORLD", "\u00a0", "\u200d", "\u0300", "한국", "각", "\r\n", "$", "😀", "don't", "<tool>", "##", "zz",
]
N, P, D, M, R = normalizers, pre_tokenizers, decoders, models, processors
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA = N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")])
PIECES = D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])


def text():
    return "".join(random.choice(PARTS) for _ in range(random.randint(1, 12)))


# What a vocabulary starts from, its normalizer, pre-tokenizer and decoder.
PIPELINES = [
    ("bytes", None, P.ByteLevel(), D.ByteLevel()),
    ("bytes", N.NFC(), P.Sequence([P.Split(Regex(QWEN), "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)]), D.ByteLevel()),
    ("bytes", None, P.Sequence([P.Digits(individual_digits=True), P.ByteLevel(add_prefix_space=False)]), D.ByteLevel()),
    ("bytes", N.NFKC(), P.Sequence([P.Split(Regex(r"\s+"), "merged_with_next"), P.ByteLevel(add_prefix_space=False, use_regex=False)]), D.ByteLevel()),
    ("fallback", LLAMA, None, PIECES),
    ("fallback", N.Replace(" ", "▁"), P.Split(" ", "merged_with_previous"), PIECES),
    ("fallback", None, P.Metaspace(prepend_scheme="first"), D.Metaspace()),
    ("characters", N.NFD(), P.Metaspace(prepend_scheme="never", split=False), D.Metaspace(prepend_scheme="never")),
    ("characters", N.Strip(), P.Sequence([P.WhitespaceSplit(), P.Metaspace()]), D.Fuse()),
    ("characters", N.NFKD(), P.Split(Regex(r"[aeiou]"), "merged_with_previous", invert=True), None),
    ("characters", N.Sequence([N.Replace(Regex(r"\s+"), " "), N.Lowercase()]), P.Punctuation("removed"), D.BPEDecoder(suffix="zz")),
    ("scores", None, P.Metaspace(), D.Metaspace()),
    ("scores", LLAMA, P.Split(Regex(r"\p{L}+"), "contiguous", invert=True), PIECES),
    ("scores", N.Sequence([N.NFD(), N.StripAccents()]), P.Sequence([P.Digits(individual_digits=False), P.Punctuation("contiguous")]), D.Fuse()),
    ("words", N.BertNormalizer(), P.BertPreTokenizer(), D.WordPiece()),
    ("words", N.BertNormalizer(lowercase=False), P.Whitespace(), D.WordPiece(cleanup=False)),
    ("words", None, P.CharDelimiterSplit("x"), D.Sequence([D.Replace("a", "o"), D.Fuse()])),
]


def build(kind, lines):
    if kind == "bytes":
        return Tokenizer(M.BPE()), trainers.BpeTrainer(vocab_size=330, initial_alphabet=P.ByteLevel.alphabet(), show_progress=False)
    if kind == "fallback":
        start = ["<unk>"] + ["<0x%02X>" % i for i in range(256)]
        return Tokenizer(M.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True)), trainers.BpeTrainer(vocab_size=370, special_tokens=start, limit_alphabet=40, show_progress=False)
    if kind == "characters":
        return Tokenizer(M.BPE(unk_token="<unk>", fuse_unk=len(lines) % 2 == 0)), trainers.BpeTrainer(vocab_size=140, special_tokens=["<unk>"], limit_alphabet=50, show_progress=False)
    if kind == "scores":
        return Tokenizer(M.Unigram()), trainers.UnigramTrainer(vocab_size=200, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False)
    return Tokenizer(M.WordPiece(unk_token="[UNK]")), trainers.WordPieceTrainer(vocab_size=200, special_tokens=["[UNK]"], limit_alphabet=60, show_progress=False)


for number, (kind, normalizer, cut, decoder) in enumerate(PIPELINES):
    lines = [text() for _ in range(300)]
    tok, trainer = build(kind, lines)
    for name, value in (("normalizer", normalizer), ("pre_tokenizer", cut), ("decoder", decoder)):
        if value is not None:
            setattr(tok, name, value)
    tok.train_from_iterator(lines, trainer)
    spec = json.loads(tok.to_str())
    spec["added_tokens"] = [a for a in spec["added_tokens"] if not a["content"].startswith("<0x")]
    tok = Tokenizer.from_str(json.dumps(spec))
    odd = number % 2 == 1
    tok.add_special_tokens([AddedToken("<s>"), AddedToken("</s>", rstrip=odd, lstrip=not odd), AddedToken("<mask>", lstrip=True)])
    tok.add_tokens([AddedToken("<tool>", normalized=odd), AddedToken("[X]", rstrip=odd, normalized=False), AddedToken("The", single_word=True, normalized=not odd)])
    if odd:
        ids = [(t, tok.token_to_id(t)) for t in ("<s>", "</s>")]
        tok.post_processor = R.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B:1", special_tokens=ids) if number % 3 else R.BertProcessing(ids[1], ids[0])
    cases = []
    for _ in range(60):
        t = text()
        ids = tok.encode(t, add_special_tokens=False).ids
        cases.append([t, ids, tok.encode(t).ids, tok.decode(ids, skip_special_tokens=False), tok.decode(ids)])
    print(json.dumps({"kind": kind, "tokenizer": json.loads(tok.to_str()), "cases": cases}, ensure_ascii=False))
