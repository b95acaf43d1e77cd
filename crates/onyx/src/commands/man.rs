//! `onyx man`: writes the command line as pages for man(1), or as one page of the manual.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use clap::{Arg, Command, CommandFactory};

use crate::cli::{Cli, ManArguments};
use crate::exit::Exit;
use crate::output;

const OPENING: &str = "\
<!-- Written by `onyx man --markdown` (`make docs`) from the command line itself. Edit crates/onyx/src/cli.rs. -->

# Commands

`onyx <command> --help` says the same. Every command works on the home that `ONYX_HOME` names, or on the default one, whether a
server runs on it or not. Most accept `--json`.

";

pub(crate) fn run(arguments: &ManArguments) -> Result<Exit> {
    let mut onyx = Cli::command();
    onyx.build();
    match &arguments.to {
        Some(folder) => write_pages(folder)?,
        None => output::document(markdown(&onyx).as_bytes()),
    }
    Ok(Exit::Done)
}

fn write_pages(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .with_context(|| format!("cannot write to {}", folder.display()))
}

fn markdown(onyx: &Command) -> String {
    let mut page = OPENING.to_owned();
    for command in shown(onyx) {
        section(&mut page, command, "onyx");
    }
    if let Some(codes) = onyx.get_after_help() {
        // Writing to a string cannot fail.
        let _ = write!(page, "## Exit codes\n\n```\n{codes}\n```\n");
    }
    page
}

/// Adds a chapter for each command of the first level, with its subcommands.
fn section(page: &mut String, command: &Command, above: &str) {
    let name = format!("{above} {}", command.get_name());
    let depth = if above == "onyx" { "##" } else { "###" };
    let _ = write!(page, "{depth} {name}\n\n{}\n\n", about(command));
    let inner: Vec<&Command> = shown(command).collect();
    if inner.is_empty() || command.get_arguments().any(is_shown) {
        arguments(page, command, &name);
    }
    for inner in inner {
        section(page, inner, &name);
    }
}

fn arguments(page: &mut String, command: &Command, name: &str) {
    let positional: Vec<String> = command.get_positionals().map(placeholder).collect();
    let has_options = command.get_arguments().any(|it| is_shown(it) && !it.is_positional());
    let options = if has_options { " [options]" } else { "" };
    let words = std::iter::once(format!("{name}{options}")).chain(positional);
    let _ = write!(page, "```\n{}\n```\n\n", words.collect::<Vec<_>>().join(" "));
    let rows: Vec<String> = command.get_arguments().filter(|it| is_shown(it)).map(row).collect();
    if !rows.is_empty() {
        let _ = write!(page, "| | |\n|---|---|\n{}\n\n", rows.join("\n"));
    }
}

fn row(argument: &Arg) -> String {
    let mut named: Vec<String> = Vec::new();
    named.extend(argument.get_short().map(|short| format!("`-{short}`")));
    named.extend(argument.get_long().map(|long| {
        let value = if argument.get_action().takes_values() {
            format!(" {}", value_name(argument))
        } else {
            String::new()
        };
        format!("`--{long}{value}`")
    }));
    if named.is_empty() {
        named.push(format!("`{}`", placeholder(argument)));
    }
    let mut says = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let choices: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| argument.get_action().takes_values() && !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !choices.is_empty() {
        let colon = if says.is_empty() { "" } else { ": " };
        let _ = write!(says, "{colon}{}", choices.join(", "));
    }
    let usual: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if argument.get_action().takes_values() && !usual.is_empty() {
        let _ = write!(says, " (default: `{}`)", usual.join(" "));
    }
    format!("| {} | {} |", named.join(", "), cell(&says))
}

/// All commands that help shows, except `help` itself.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
}

fn is_shown(argument: &Arg) -> bool {
    !argument.is_hide_set() && !matches!(argument.get_id().as_str(), "help" | "version")
}

fn about(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let end = if about.ends_with(['.', '?']) { "" } else { "." };
    cell(&format!("{about}{end}"))
}

fn placeholder(argument: &Arg) -> String {
    let name = value_name(argument);
    let many = argument.get_num_args().is_some_and(|number| number.max_values() > 1)
        || matches!(argument.get_action(), clap::ArgAction::Append);
    let name = if many { format!("{name}...") } else { name };
    if argument.is_required_set() { name } else { format!("[{name}]") }
}

fn value_name(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let name = names
        .first()
        .map_or_else(|| argument.get_id().as_str().to_uppercase(), ToString::to_string);
    format!("<{name}>")
}

/// A table cell. A vertical bar would end the cell, and text in angle brackets would become a tag.
fn cell(text: &str) -> String {
    let mut escaped = String::new();
    let mut in_code = false;
    for letter in text.replace('\n', " ").chars() {
        match letter {
            '`' => in_code = !in_code,
            '|' => escaped.push('\\'),
            '<' if !in_code => {
                escaped += "&lt;";
                continue;
            }
            _ => {}
        }
        escaped.push(letter);
    }
    escaped
}
