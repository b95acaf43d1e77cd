//! Rows become list items that name their columns, so that a search result with one row explains
//! its values.

use std::fmt::Write as _;

use csv::{ReaderBuilder, StringRecord};

use crate::ExtractError;

const DELIMITERS: &[u8] = b",;\t|";

pub(crate) fn markdown(text: &str) -> Result<String, ExtractError> {
    let mut rows = ReaderBuilder::new()
        .delimiter(delimiter(text))
        .has_headers(true)
        .flexible(true)
        .from_reader(text.as_bytes());
    let columns = rows.headers().map_err(|error| damaged(&error))?.clone();
    let mut list = String::with_capacity(text.len() * 2);
    for row in rows.records() {
        push_row(&mut list, &columns, &row.map_err(|error| damaged(&error))?);
    }
    if list.is_empty() {
        // A table with only one line is shown without column names, because that line is no
        // heading.
        push_row(&mut list, &StringRecord::new(), &columns);
    }
    Ok(list)
}

fn push_row(list: &mut String, columns: &StringRecord, row: &StringRecord) {
    let mut separator = "- ";
    for (index, value) in row.iter().enumerate() {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if value.is_empty() {
            continue;
        }
        list.push_str(separator);
        if let Some(column) = columns.get(index).map(str::trim).filter(|name| !name.is_empty()) {
            // Writing into a string cannot fail.
            let _ = write!(list, "{column}: ");
        }
        list.push_str(&value);
        separator = "; ";
    }
    if separator != "- " {
        list.push('\n');
    }
}

/// The delimiter that occurs most often in the first line.
fn delimiter(text: &str) -> u8 {
    let first = text.lines().next().unwrap_or_default().as_bytes();
    let count = |delimiter: u8| first.iter().filter(|byte| **byte == delimiter).count();
    DELIMITERS.iter().copied().rev().max_by_key(|delimiter| count(*delimiter)).unwrap_or(b',')
}

fn damaged(error: &csv::Error) -> ExtractError {
    ExtractError::Damaged(error.to_string())
}
