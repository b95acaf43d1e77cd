//! Random input for code that reads untrusted data. Stable Rust cannot measure coverage, so cases
//! are made from valid input: cut, doubled, swapped, with words of the format and unusual numbers
//! in unexpected places. A case that ever failed is kept in `tests/fuzz/<target>` of its crate and
//! tried first from then on.
//!
//! The tests include a short run that is always the same; `make fuzz` runs longer and with other
//! random numbers.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use onyx_types::Hash;

const USUAL: Duration = Duration::from_millis(400);
/// A case that takes longer than this could be used to keep the program busy.
const SLOWEST: Duration = Duration::from_secs(5);
const LONGEST: usize = 64 * 1024;

/// A target and the input that it is tried with.
pub struct Fuzz {
    folder: PathBuf,
    seeds: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
    dice: Dice,
    lasts: Duration,
}

/// A generator of pseudo-random numbers that can be repeated.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`, which may be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() >> 11) as usize % bound.max(1)
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// How long a target is tried: the time that `make fuzz` sets, else a moment.
pub fn fuzz_time() -> Duration {
    let seconds = std::env::var("ONYX_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    seconds.map_or(USUAL, Duration::from_secs_f64)
}

fn seed() -> u64 {
    std::env::var("ONYX_FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_116)
}

impl Fuzz {
    /// Makes a target; `crate_folder` is `env!("CARGO_MANIFEST_DIR")`.
    pub fn new(crate_folder: &str, target: &str) -> Self {
        let folder = PathBuf::from(crate_folder).join("tests/fuzz").join(target);
        Self {
            folder,
            seeds: Vec::new(),
            words: Vec::new(),
            dice: Dice::new(seed()),
            lasts: fuzz_time(),
        }
    }

    /// Adds valid input to begin with.
    #[must_use]
    pub fn seed(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.seeds.push(bytes.into());
        self
    }

    /// Adds words that have a meaning in the format.
    #[must_use]
    pub fn words<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_bytes().to_vec()));
        self
    }

    /// Tries earlier findings, the seeds, and then random input. Returns how many inputs were tried.
    pub fn run(mut self, check: impl Fn(&[u8])) -> usize {
        let kept = self.kept();
        let mut corpus: Vec<Vec<u8>> = kept.into_iter().chain(self.seeds.clone()).collect();
        corpus.iter().for_each(|case| self.attempt(case, &check));
        assert!(!corpus.is_empty(), "{} has nothing to begin with", self.folder.display());
        let (began, mut tried) = (Instant::now(), corpus.len());
        while began.elapsed() < self.lasts {
            let mut case = self.dice.pick(&corpus).clone();
            for _ in 0..=self.dice.below(6) {
                case = self.changed(case, &corpus);
            }
            case.truncate(LONGEST);
            self.attempt(&case, &check);
            // Some cases are kept, so that later ones are made from them.
            if self.dice.below(40) == 0 && corpus.len() < 256 {
                corpus.push(case);
            }
            tried += 1;
        }
        println!("{}: {tried} cases", self.folder.display());
        tried
    }

    fn kept(&self) -> Vec<Vec<u8>> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
        paths.sort();
        paths.iter().map(|path| fs::read(path).unwrap()).collect()
    }

    fn attempt(&self, case: &[u8], check: &impl Fn(&[u8])) {
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| check(case)));
        let is_slow = began.elapsed() > SLOWEST;
        if outcome.is_ok() && !is_slow {
            return;
        }
        let path = self.folder.join(&Hash::of(case).to_string()[..16]);
        fs::create_dir_all(&self.folder).unwrap();
        fs::write(&path, case).unwrap();
        eprintln!("kept as {}: {}", path.display(), String::from_utf8_lossy(case));
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
        panic!("a case takes {:?}", began.elapsed());
    }

    fn changed(&mut self, mut case: Vec<u8>, corpus: &[Vec<u8>]) -> Vec<u8> {
        let dice = &mut self.dice;
        let (at, to) = {
            let (a, b) = (dice.below(case.len() + 1), dice.below(case.len() + 1));
            (a.min(b), a.max(b))
        };
        match dice.below(10) {
            0 if !case.is_empty() => {
                let place = at.min(case.len() - 1);
                case[place] ^= 1 << dice.below(8);
            }
            1 => drop(case.drain(at..to.min(at + 64))),
            2 => {
                let piece = case[at..to.min(at + 512)].to_vec();
                let times = 1 + dice.below(8);
                let more = piece.repeat(times);
                case.splice(at..at, more);
            }
            3 => case.truncate(at),
            4 => {
                let odd: &[&[u8]] = &[
                    b"-1",
                    b"0",
                    b"18446744073709551616",
                    b"1e999",
                    b"NaN",
                    b"\0",
                    b"\xff\xfe",
                    b"\xc3",
                    b"\xed\xa0\x80",
                    b"\xf0\x9f\x92\xa9",
                    b"\\u0000",
                    b"\\ud800",
                    b"\r\n",
                    b"\n\n",
                    b"\xe2\x80\xae",
                    b"\xff\xff\xff\xff",
                    b"\x7f\xff\xff\xff",
                    b"[[[[[[[[",
                    b"{\"a\":",
                ];
                let odd = dice.pick(odd).to_vec();
                case.splice(at..at, odd);
            }
            5 => {
                let other = dice.pick(corpus);
                let from = dice.below(other.len() + 1);
                let piece = other[from..(from + dice.below(256)).min(other.len())].to_vec();
                case.splice(at..to.min(at + 32), piece);
            }
            6 if !self.words.is_empty() => {
                let word = self.dice.pick(&self.words).clone();
                case.splice(at..at, word);
            }
            7 => {
                let more: Vec<u8> = (0..1 + dice.below(8)).map(|_| dice.number() as u8).collect();
                case.splice(at..to.min(at + 8), more);
            }
            8 => case[at..to].reverse(),
            _ => {
                let other = dice.pick(corpus);
                case.truncate(at);
                case.extend_from_slice(&other[dice.below(other.len() + 1)..]);
            }
        }
        case
    }
}
