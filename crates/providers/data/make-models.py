#!/usr/bin/env python3
"""Makes models.tsv from the price and context table of the PyPI package `litellm` (MIT).

    pip download --no-deps litellm && unzip -o litellm-*.whl -d litellm
    python3 make-models.py litellm > models.tsv

Lines are sorted by their first column (bytes), so that one can be found without reading the rest.
Prices are per million tokens, in US dollars; an empty column is unknown.
"""
import glob
import json
import sys

# Their provider -> ours, and the prefix that their keys carry and our models do not.
PROVIDERS = {
    "anthropic": ("anthropic", ""),
    "azure": ("azure", "azure/"),
    "bedrock": ("bedrock", "bedrock/"),
    "bedrock_converse": ("bedrock", "bedrock/"),
    "cerebras": ("cerebras", "cerebras/"),
    "chatgpt": ("chatgpt", "chatgpt/"),
    "deepinfra": ("deepinfra", "deepinfra/"),
    "deepseek": ("deepseek", "deepseek/"),
    "fireworks_ai": ("fireworks", "fireworks_ai/"),
    "gemini": ("gemini", "gemini/"),
    "github_copilot": ("github_copilot", "github_copilot/"),
    "groq": ("groq", "groq/"),
    "mistral": ("mistral", "mistral/"),
    "moonshot": ("moonshot", "moonshot/"),
    "ollama": ("ollama", "ollama/"),
    "openai": ("openai", ""),
    "openrouter": ("openrouter", "openrouter/"),
    "perplexity": ("perplexity", "perplexity/"),
    "together_ai": ("together", "together_ai/"),
    "vertex_ai": ("vertex_ai", "vertex_ai/"),
    "vertex_ai-anthropic_models": ("vertex_ai", "vertex_ai/"),
    "vertex_ai-language-models": ("vertex_ai", "vertex_ai/"),
    "vertex_ai-mistral_models": ("vertex_ai", "vertex_ai/"),
    "xai": ("xai", "xai/"),
}
MODES = {"chat": "c", "responses": "c", "embedding": "e"}
# Regional and fine-tuning rows repeat a model under prices that Onyx cannot tell apart.
SKIPPED = ("ft:", "azure/us/", "azure/eu/", "azure/global", "bedrock/us-", "bedrock/eu-",
           "bedrock/ap-", "bedrock/sa-", "bedrock/ca-", "bedrock/*", "bedrock/us.", "1024-x")
FLAGS = [("supports_function_calling", "t"), ("supports_vision", "i"),
         ("supports_audio_input", "a"), ("supports_pdf_input", "p"), ("supports_reasoning", "r")]


def number(value):
    """Tokens as an integer; nothing where the table holds a sentence or zero."""
    return str(int(value)) if isinstance(value, (int, float)) and value > 0 else ""


def price(entry, field):
    value = entry.get(field)
    return f"{value * 1e6:.6g}" if isinstance(value, (int, float)) and value >= 0 else ""


def tier(entry):
    """The price of long prompts, where there is one: threshold, input, output, cache read."""
    for thousands in (128, 200, 256, 272):
        above = f"_above_{thousands}k_tokens"
        if f"input_cost_per_token{above}" in entry:
            return [str(thousands * 1000)] + [
                price(entry, field + above) for field in
                ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost")]
    return ["", "", "", ""]


def row(key, entry):
    ours, prefix = PROVIDERS[entry["litellm_provider"]]
    model = key[len(prefix):] if prefix and key.startswith(prefix) else key
    columns = [
        f"{ours}/{model}",
        MODES[entry["mode"]] + "".join(flag for field, flag in FLAGS if entry.get(field)),
        number(entry.get("max_input_tokens") or entry.get("max_tokens")),
        number(entry.get("output_vector_size") if entry["mode"] == "embedding"
               else entry.get("max_output_tokens")),
        *(price(entry, field) for field in
          ("input_cost_per_token", "output_cost_per_token",
           "cache_read_input_token_cost", "cache_creation_input_token_cost")),
        *tier(entry),
    ]
    return "\t".join(columns).rstrip("\t")


def main():
    (path,) = glob.glob(f"{sys.argv[1]}/**/model_prices_and_context_window*.json", recursive=True)
    with open(path, encoding="utf-8") as file:
        table = json.load(file)
    rows = {}
    for key, entry in table.items():
        known = entry.get("litellm_provider") in PROVIDERS and entry.get("mode") in MODES
        if known and not key.startswith(SKIPPED):
            line = row(key, entry)
            rows.setdefault(line.split("\t", 1)[0], line)
    for name in sorted(rows, key=lambda name: name.encode()):
        print(rows[name])


main()
