//! `data/models.tsv`: one model a line, sorted by name, read in place.

use memchr::{memchr, memrchr};

use super::{LongPromptPrice, Modality, ModelFacts, Price};

static TABLE: &str = include_str!("../../data/models.tsv");

pub(super) fn find(id: &str) -> Option<ModelFacts> {
    let line = lines_from(id).next()?;
    let (name, columns) = line.split_once('\t')?;
    (name == id).then(|| facts(columns))
}

pub(super) fn chat_models(vendor: &str) -> impl Iterator<Item = &'static str> {
    let prefix = format!("{vendor}/");
    lines_from(&prefix)
        .map_while(move |line| {
            let (model, columns) = line.strip_prefix(&prefix)?.split_once('\t')?;
            Some((model, columns.starts_with('c')))
        })
        .filter_map(|(model, chats)| chats.then_some(model))
}

/// The lines from the first whose name is not before `id`.
fn lines_from(id: &str) -> std::str::Lines<'static> {
    let (mut low, mut high) = (0, TABLE.len());
    // `low` and `high` are starts of lines, or the end.
    while low < high {
        let middle = line_start(low, low + (high - low) / 2);
        let line = &TABLE.as_bytes()[middle..];
        let until = |mark| memchr(mark, line).unwrap_or(line.len());
        if line[..until(b'\t')] < *id.as_bytes() {
            low = (middle + until(b'\n') + 1).min(TABLE.len());
        } else {
            high = middle;
        }
    }
    TABLE[low..].lines()
}

/// The start of the line that holds `at`, not before `low`.
fn line_start(low: usize, at: usize) -> usize {
    let before = &TABLE.as_bytes()[low..at];
    memrchr(b'\n', before).map_or(low, |newline| low + newline + 1)
}

fn facts(columns: &str) -> ModelFacts {
    let mut columns = columns.split('\t');
    let mut next = || columns.next().unwrap_or_default();
    let flags = next();
    let context_window = next().parse().ok();
    let length: Option<u32> = next().parse().ok();
    let mut price = || next().parse::<f64>().ok();
    let (input, output, cache_read, cache_write) = (price(), price(), price(), price());
    let (above, long_input, long_output, long_read) = (price(), price(), price(), price());
    let long_prompt = match (above, long_input, long_output) {
        (Some(above), Some(input), Some(output)) => {
            Some(LongPromptPrice { above: above as u64, input, output, cache_read: long_read })
        }
        _ => None,
    };
    let embeds = flags.starts_with('e');
    // An embedding model has no output to pay for.
    let output = output.or(embeds.then_some(0.0));
    ModelFacts {
        context_window,
        max_output_tokens: length.filter(|_| !embeds),
        price: input.zip(output).map(|(input, output)| Price {
            input,
            output,
            cache_read,
            cache_write,
            long_prompt,
        }),
        inputs: Some(modalities(flags)),
        tools: Some(flags.contains('t')),
        reasoning: Some(flags.contains('r')),
        dims: length.filter(|_| embeds),
    }
}

fn modalities(flags: &str) -> Vec<Modality> {
    let known = [('i', Modality::Image), ('a', Modality::Audio), ('p', Modality::Pdf)];
    known.into_iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, it)| it).collect()
}
