//! The program that recognises text on pictures: `tesseract`, where it is installed. It runs as a
//! helper, confined, with one thread, and bounded in time and memory for each picture.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::ExtractError;
use crate::helper::{HelperProcess, NoHelperAnswer, RECOGNISING_SECONDS, Task};

/// The most languages that a picture is read with, because each makes reading slower.
const MOST_LANGUAGES: usize = 4;
const ENGLISH: &str = "eng";
/// What `tesseract` lists among its languages and is none.
const NO_LANGUAGES: [&str; 3] = ["osd", "equ", "snum"];
/// How long `tesseract` may take to say what it has.
const PATIENCE_FOR_QUESTIONS: Duration = Duration::from_secs(20);

/// What the installed `tesseract` can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognition {
    /// Its first line about itself, such as `tesseract 5.3.0`.
    pub version: String,
    pub installed: Vec<String>,
    /// The installed languages that pictures are read with.
    pub used: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Recogniser {
    helper: HelperProcess,
    program: PathBuf,
    /// The locale of this machine, such as `de_AT.UTF-8`.
    locale: Option<String>,
    patience: Duration,
}

impl Recogniser {
    pub(crate) fn new(helper: HelperProcess, program: PathBuf, locale: Option<String>) -> Self {
        let patience = Duration::from_secs(RECOGNISING_SECONDS);
        Self { helper, program, locale, patience }
    }

    /// Sets a shorter time limit for each picture.
    pub(crate) fn within(mut self, patience: Duration) -> Self {
        self.patience = self.patience.min(patience);
        self
    }

    pub(crate) async fn about(&self) -> Result<Recognition, ExtractError> {
        let version = self.answer_to("--version").await?;
        let installed = installed(&self.answer_to("--list-langs").await?);
        let used = used(&installed, self.locale.as_deref());
        let version = version.lines().next().unwrap_or_default().trim().to_owned();
        Ok(Recognition { version, installed, used })
    }

    /// The languages to read with, as `tesseract` takes them. They are looked up for each document,
    /// so that a new language counts at once.
    pub(crate) async fn languages(&self) -> Result<String, ExtractError> {
        let installed = installed(&self.answer_to("--list-langs").await?);
        let used = used(&installed, self.locale.as_deref());
        if used.is_empty() { Err(ExtractError::NoLanguage) } else { Ok(used.join("+")) }
    }

    /// The text on a picture; pages of a picture with several are separated by form feeds.
    pub(crate) async fn read(
        &self,
        picture: &[u8],
        languages: &str,
    ) -> Result<String, ExtractError> {
        let seconds = self.patience.as_secs();
        match self.run(&["stdin", "stdout", "-l", languages], picture, self.patience).await {
            Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
            Err(NoHelperAnswer::NotStarted(error)) => Err(ExtractError::Reader(error.to_string())),
            Err(NoHelperAnswer::Ended) => Err(ExtractError::TooCostly { seconds }),
            Err(NoHelperAnswer::Failed) => {
                Err(ExtractError::Damaged("`tesseract` cannot open the picture".to_owned()))
            }
        }
    }

    async fn answer_to(&self, question: &str) -> Result<String, ExtractError> {
        match self.run(&[question], b"", PATIENCE_FOR_QUESTIONS).await {
            Ok(answer) => Ok(String::from_utf8_lossy(&answer).into_owned()),
            Err(NoHelperAnswer::NotStarted(error)) => Err(ExtractError::Reader(error.to_string())),
            Err(NoHelperAnswer::Ended | NoHelperAnswer::Failed) => {
                Err(ExtractError::Reader(format!("`tesseract {question}` failed")))
            }
        }
    }

    async fn run(
        &self,
        arguments: &[&str],
        input: &[u8],
        patience: Duration,
    ) -> Result<Vec<u8>, NoHelperAnswer> {
        let task = Task::Recognise {
            program: self.program.clone(),
            arguments: arguments.iter().map(OsString::from).collect(),
        };
        self.helper.ask(&task, input, patience).await
    }
}

/// The languages in the answer to `--list-langs`, which begins with a line about them.
fn installed(answer: &str) -> Vec<String> {
    let is_language = |line: &&str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !line.is_empty() && line.bytes().all(is_part) && !NO_LANGUAGES.contains(line)
    };
    let languages = answer.lines().skip(1).map(str::trim).filter(is_language);
    languages.map(str::to_owned).collect()
}

/// The languages to read with: that of the machine first, then English, then the others, as long as
/// there are few. Where many are installed, the others are most likely not the person's.
fn used(installed: &[String], locale: Option<&str>) -> Vec<String> {
    let own = locale.and_then(language_of);
    let preferred = [own, Some(ENGLISH)].into_iter().flatten();
    let mut used: Vec<String> = Vec::new();
    for language in preferred.filter(|language| installed.iter().any(|one| one == language)) {
        if !used.iter().any(|one| one == language) {
            used.push(language.to_owned());
        }
    }
    if used.is_empty() || installed.len() <= MOST_LANGUAGES {
        let others: Vec<String> =
            installed.iter().filter(|language| !used.contains(language)).cloned().collect();
        used.extend(others);
    }
    used.truncate(MOST_LANGUAGES);
    used
}

/// The name that `tesseract` has for the language of a locale.
fn language_of(locale: &str) -> Option<&'static str> {
    let traditional = ["zh_TW", "zh_HK", "zh_MO"];
    if traditional.iter().any(|place| locale.starts_with(place)) {
        return Some("chi_tra");
    }
    let code = locale.split(['_', '.', '@', '-']).next()?;
    LANGUAGES.iter().find(|(own, _)| *own == code).map(|(_, name)| *name)
}

const LANGUAGES: &[(&str, &str)] = &[
    ("af", "afr"),
    ("ar", "ara"),
    ("be", "bel"),
    ("bg", "bul"),
    ("bn", "ben"),
    ("bs", "bos"),
    ("ca", "cat"),
    ("cs", "ces"),
    ("cy", "cym"),
    ("da", "dan"),
    ("de", "deu"),
    ("el", "ell"),
    ("en", ENGLISH),
    ("eo", "epo"),
    ("es", "spa"),
    ("et", "est"),
    ("eu", "eus"),
    ("fa", "fas"),
    ("fi", "fin"),
    ("fr", "fra"),
    ("ga", "gle"),
    ("gl", "glg"),
    ("gu", "guj"),
    ("he", "heb"),
    ("hi", "hin"),
    ("hr", "hrv"),
    ("hu", "hun"),
    ("hy", "hye"),
    ("id", "ind"),
    ("is", "isl"),
    ("it", "ita"),
    ("ja", "jpn"),
    ("ka", "kat"),
    ("kk", "kaz"),
    ("km", "khm"),
    ("kn", "kan"),
    ("ko", "kor"),
    ("lt", "lit"),
    ("lv", "lav"),
    ("mk", "mkd"),
    ("ml", "mal"),
    ("mr", "mar"),
    ("ms", "msa"),
    ("mt", "mlt"),
    ("nb", "nor"),
    ("ne", "nep"),
    ("nl", "nld"),
    ("nn", "nor"),
    ("no", "nor"),
    ("pa", "pan"),
    ("pl", "pol"),
    ("pt", "por"),
    ("ro", "ron"),
    ("ru", "rus"),
    ("sk", "slk"),
    ("sl", "slv"),
    ("sq", "sqi"),
    ("sr", "srp"),
    ("sv", "swe"),
    ("sw", "swa"),
    ("ta", "tam"),
    ("te", "tel"),
    ("th", "tha"),
    ("tr", "tur"),
    ("uk", "ukr"),
    ("ur", "urd"),
    ("vi", "vie"),
    ("zh", "chi_sim"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn only_languages_are_taken_from_the_list() {
        let list = "List of available languages in \"/usr/share/tessdata/\" (5):\nchi_sim\ndeu\neng\n\
                    osd\nscript/Latin\n";
        assert_eq!(installed(list), names(&["chi_sim", "deu", "eng"]));
        assert_eq!(installed("List of available languages (0):\n"), names(&[]));
    }

    #[test]
    fn the_language_of_the_machine_comes_first_and_at_most_four_are_used() {
        let few = names(&["deu", "eng", "fra"]);
        assert_eq!(used(&few, Some("fr_FR.UTF-8")), names(&["fra", "eng", "deu"]));
        assert_eq!(used(&few, Some("C.UTF-8")), names(&["eng", "deu", "fra"]));
        assert_eq!(used(&few, None), names(&["eng", "deu", "fra"]));
        assert_eq!(used(&names(&["jpn"]), Some("en_US")), names(&["jpn"]));
        let many = names(&["afr", "amh", "chi_tra", "deu", "eng", "fra"]);
        assert_eq!(used(&many, Some("zh_TW.UTF-8")), names(&["chi_tra", "eng"]));
        assert_eq!(used(&many, Some("en_GB")), names(&["eng"]));
        let strange = names(&["afr", "amh", "asm", "aze", "bel"]);
        assert_eq!(used(&strange, Some("de_AT")), names(&["afr", "amh", "asm", "aze"]));
        assert_eq!(used(&[], Some("de_AT")), names(&[]));
    }
}
