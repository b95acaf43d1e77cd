//! Words that occur in many questions and say nothing about their subject, by language. They are
//! left out only of questions in that language, because in another language they may mean
//! something.

use std::collections::HashSet;

use super::words::LANGUAGES;

const ENGLISH: &str = "a about after again all am an and any are as at be because been before being \
    between both but by can could did do does doing during each few for from further had has have \
    having he her here hers him his how i if in into is it its just like many may me might more \
    most much must my no nor not of off on once only or other our out over own same shall she \
    should so some such than that the their them then there these they this those through to too \
    under until up us very was we were what when where which while who whom whose why will with \
    would you your s t d ll m re ve";
const GERMAN: &str = "aber als am an auch auf aus bei bin bis da dann das dass dem den der des die \
    dies diese dieser doch du durch ein eine einem einen einer er es für habe haben hat hatte \
    ich ihr im in ist ja kann kein keine man mein meine mit nach nicht noch nur ob oder ohne sein \
    seine sich sie sind so über um und uns unser vom von vor wann war waren warum was welche \
    welcher wenn wer wie wir wird wo wurde zu zum zur";
const FRENCH: &str = "ai as au aux avec ce ces cette c d dans de des du elle en est et était être \
    eu fait il ils j je l la le les leur lui m ma mais me mes mon n ne nous on ont ou où par pas \
    pour qu quand que quel quelle qui s sa se ses si son sont sur t ta te tu un une vos votre vous y";
const SPANISH: &str = "al algo como con cual cuál cuando cuándo de del desde donde dónde el ella en \
    entre era es esa ese esta este está están fue ha hay he la las le les lo los más me mi mis muy \
    no nos o para pero por porque qué que quién se ser si sin sobre son su sus también te tiene tu \
    un una uno y ya yo";
const ITALIAN: &str = "a ai al alla anche che chi ci come con cosa cui da dal dalla dei del della \
    delle di dove e è ed era gli ha hanno ho i il in io la le lo ma mi mio nel nella noi non o per \
    perché più quale quando quanto qui se si sono su sul sulla tra tu un una uno";
const PORTUGUESE: &str = "a ao aos as até com como da das de do dos e é ela ele em entre era essa \
    esse esta este eu foi há isso já mais mas me meu minha na nas não no nos o onde os ou para pela \
    pelo por porque qual quando que quem se sem ser seu sua são também tem um uma";
const DUTCH: &str = "aan al als bij dan dat de der deze die dit door een en er had heb hebben heeft \
    het hij hoe ik in is je kan maar me met mijn naar niet nog nu of om omdat ons ook op over te tot \
    uit van voor waar wanneer waren was wat we welke wie wij zal ze zich zij zijn";
const SWEDISH: &str = "att av blev de den det du där efter ej en ett från för ha hade han har hon \
    hur här i inte jag kan man med men min mitt när nu och om på sig sin ska som så till under upp \
    ut vad var vara vem vi vid vilken än är";

/// The words that are left out of questions, for each of `LANGUAGES`.
pub(crate) struct StopWords(Vec<HashSet<&'static str>>);

impl StopWords {
    pub(crate) fn new() -> Self {
        let list = |code: &str| match code {
            "en" => ENGLISH,
            "de" => GERMAN,
            "fr" => FRENCH,
            "es" => SPANISH,
            "it" => ITALIAN,
            "pt" => PORTUGUESE,
            "nl" => DUTCH,
            "sv" => SWEDISH,
            _ => "",
        };
        let of = |language: &super::words::TextLanguage| {
            let small = language.small_words.iter().copied();
            list(language.code).split_whitespace().chain(small).collect()
        };
        Self(LANGUAGES.iter().map(of).collect())
    }

    /// The words of a question without stop words; the whole question if none would be left.
    pub(crate) fn without(&self, language: usize, question: &str) -> String {
        let Some(stop) = self.0.get(language) else { return question.to_owned() };
        // The parts on both sides of an apostrophe are separate words, as in "Ana's" and "l'eau".
        let parts = question.split(|c: char| c.is_whitespace() || matches!(c, '\'' | '’'));
        let says_something = |part: &&str| {
            let word = part.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            !part.is_empty() && !stop.contains(word.as_str())
        };
        let kept: Vec<&str> = parts.filter(says_something).collect();
        let says_any = kept.iter().any(|word| word.chars().any(char::is_alphanumeric));
        if says_any { kept.join(" ") } else { question.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::LanguageDetector;
    use super::*;

    fn left(question: &str) -> String {
        StopWords::new().without(LanguageDetector::new().of(question), question)
    }

    #[test]
    fn what_says_nothing_is_left_out_in_its_own_language() {
        assert_eq!(left("When did we paint the hallway?"), "paint hallway?");
        assert_eq!(left("Wann haben wir den Flur gestrichen?"), "Flur gestrichen?");
        // The word "die" is an article in German and a verb in English.
        assert_eq!(left("what made the plants die"), "made plants die");
        assert_eq!(left("what is it"), "what is it");
        assert_eq!(left("Where's Ana's bike?"), "Ana bike?");
        assert_eq!(left("read_config's of_it"), "read_config of_it");
        assert_eq!(left("東京 と"), "東京 と");
    }
}
