//! Sends the files that an answer links to as attachments. Only files of the person's vault are
//! sent, and only if the chat is private and the network accepts files.

use onyx_storage::{NewPart, PeerKind};
use onyx_types::{Fault, PersonId};
use pulldown_cmark::{Event, Parser, Tag};

use crate::connector::OutgoingFile;
use crate::context::AccountContext;
use crate::outbox::{Destination, file_part};

const MOST_FILES: usize = 5;

/// The linked files of an answer, as parts that follow its text in the outbox.
pub(super) async fn file_parts(
    context: &AccountContext,
    to: Destination<'_>,
    kind: PeerKind,
    person: &PersonId,
    answer: &str,
) -> Result<Vec<NewPart>, Fault> {
    let traits = context.connector.traits();
    // The person's own files are never sent to groups, because others read there.
    if kind == PeerKind::Group || traits.largest_file == 0 {
        return Ok(Vec::new());
    }
    let mut parts = Vec::new();
    for path in linked(answer) {
        let Some(bytes) = context.port.file(person, &path, traits.largest_file).await? else {
            continue;
        };
        if bytes.is_empty() {
            continue;
        }
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        let media_type = media_type(&name).to_owned();
        let file = OutgoingFile { person: person.clone(), path, name, media_type };
        parts.push(file_part(&traits, to, parts.len(), file)?);
        if parts.len() == MOST_FILES {
            break;
        }
    }
    Ok(parts)
}

/// The paths that the links and pictures of a text point to, each listed once.
fn linked(text: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for event in Parser::new(text) {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else {
            continue;
        };
        if let Some(path) = path(&dest_url)
            && !paths.contains(&path)
        {
            paths.push(path);
        }
    }
    paths
}

/// The path of a link that points into the vault; `None` for web addresses and for anchors within a
/// page.
fn path(link: &str) -> Option<String> {
    let link = link.split(['#', '?']).next().unwrap_or(link);
    let link = link.trim_start_matches("./");
    let link = link.strip_prefix("vault/").unwrap_or(link).replace("%20", " ");
    let is_path = !link.is_empty()
        && !link.starts_with('/')
        && !link.contains(':')
        && !link.contains('\\')
        && link.split('/').all(|piece| !piece.is_empty() && !piece.starts_with('.'));
    is_path.then_some(link)
}

fn media_type(name: &str) -> &'static str {
    let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "md" | "txt" | "csv" => "text/plain",
        "json" => "application/json",
        "mp3" => "audio/mpeg",
        "ogg" => "audio/ogg",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_vault_are_found_and_nothing_else() {
        let text = "See [the report](reports/may%202026.pdf), ![chart](./vault/c.png), again \
                    [it](reports/may%202026.pdf), [a site](https://a.b/c.pdf), [top](#top), \
                    [up](../secret), [root](/etc/passwd), [hidden](.git/config), \
                    [mail](mailto:a@b.c), `[code](x.md)`";
        assert_eq!(linked(text), ["reports/may 2026.pdf", "c.png"]);
    }
}
